import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { UndiciHttpClient } from "../../src/runtime/node/undici-http-client.js";
import { eventually } from "../process/support/cloud.js";
import { Program } from "../process/support/program.js";

// An address and port of this process simulate those of another machine. Only on Linux does loopback have several addresses.
const { pid } = process;
const ADDRESS = `127.${100 + ((pid >> 16) & 127)}.${(pid >> 8) & 255}.${pid & 255}`;
const LISTEN_ADDRESS = `${ADDRESS}:${10_000 + (pid % 20_000)}`;

describe.skipIf(process.platform !== "linux")("agents on another machine", () => {
  let folder: string;
  let stateDir: string;
  let programs: Program[];

  const run = (name: "compute-agent" | "compute-cluster", ...args: string[]): Program => {
    const program = new Program(name, args, { NODE_EXTRA_CA_CERTS: "" });
    programs.push(program);
    return program;
  };
  const cluster = async (...args: string[]): Promise<Program> => {
    const program = run("compute-cluster", ...args, "--state-dir", stateDir);
    await program.exited;
    return program;
  };
  const done = async (...args: string[]): Promise<string> => {
    const program = await cluster(...args);
    expect([program.stderr, (await program.exited).code]).toEqual(["", 0]);
    return program.stdout;
  };
  const controlPlane = async (...args: string[]) => {
    const program = run("compute-cluster", "control-plane", "--port", "0", "--state-dir", stateDir, ...args);
    const [, url = ""] = await program.printed(/listening on http:\S+ and (https:\S+)/);
    return { program, url };
  };
  /** Starts an agent that shares nothing with the control plane except the file of `join`. */
  const agent = (host: string, ...args: string[]): Program =>
    run("compute-agent", "--host", host, "--state-dir", join(folder, "other-machine"), ...args);
  const joining = () => ["--config-file", join(stateDir, "join.conf")];
  const upHosts = async (): Promise<readonly string[]> => {
    const rows = JSON.parse(await done("status", "--json")) as { host: string; service: { state: string } | null }[];
    return rows.filter(({ service }) => service?.state === "up").map(({ host }) => host);
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "compute-agent-tls-"));
    stateDir = join(folder, "cluster");
    programs = [];
  });
  afterEach(async () => {
    await Promise.all(programs.map((program) => program.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  it("join over TLS with one file, reach Placement, and reconnect to a restarted control plane", async () => {
    await done("tls", "--address", ADDRESS);
    const first = await controlPlane("--listen", LISTEN_ADDRESS);
    await done("join");
    expect((await stat(join(stateDir, "join.conf"))).mode & 0o777).toBe(0o600);
    const rack1 = agent("rack1", ...joining());
    await rack1.printed(/\bserving\b/);
    expect(await upHosts()).toEqual(["rack1"]);
    const check = agent("rack2", ...joining(), "--check");
    expect([(await check.exited).code, check.stdout]).toEqual([
      0,
      expect.stringContaining(`${first.url}/placement supports`),
    ]);
    // The endpoints in clouds.yaml use the same listener.
    const { auth, cacert } = parse(await readFile(join(stateDir, "clouds.yaml"), "utf8")).clouds.devstack;
    expect([auth.auth_url, cacert]).toEqual([`${first.url}/identity/v3`, join(stateDir, "tls", "ca.pem")]);
    await done("audit", "--nova-manage-exit-codes");
    const http = new UndiciHttpClient({ tls: { verify: false } });
    const other = { method: "GET", url: `${first.url}/placement/`, headers: { host: "rebound.example" } } as const;
    expect((await http.request(other)).status).toBe(403);
    await http.close();

    await first.program.kill();
    const second = await controlPlane("--listen", LISTEN_ADDRESS);
    expect(second.url).toBe(first.url);
    await eventually(upHosts, (hosts) => hosts.includes("rack1"));
    const rack2 = agent("rack2", ...joining());
    await rack2.printed(/\bserving\b/);
    rack1.signal("SIGTERM");
    expect((await rack1.exited).code).toBe(0);
  });

  it("do not send their token to an untrusted server, report why, and join once the certificate is trusted", async () => {
    await done("tls", "--address", ADDRESS);
    const first = await controlPlane("--listen", LISTEN_ADDRESS);
    await done("join");
    first.program.signal("SIGTERM");
    await first.program.exited;
    const old = await readFile(join(stateDir, "tls", "server.pem"), "utf8");
    await done("tls", "--renew-ca");
    const untrusted = await controlPlane("--listen", LISTEN_ADDRESS);
    expect(untrusted.url).toBe(first.url);
    const rack1 = agent("rack1", ...joining());
    await rack1.printed(/no TLS with the control plane at wss:.*not issued by a trusted CA.*Retrying/);
    untrusted.program.signal("SIGTERM");
    await untrusted.program.exited;

    // The agent recognizes the control plane by its own certificate.
    await writeOwn(old);
    await controlPlane("--listen", LISTEN_ADDRESS);
    await rack1.printed(/\bserving\b/);
  });

  it("cannot join if there is no certificate for the address", async () => {
    const without = await cluster("control-plane", "--port", "0", "--listen", ADDRESS);
    expect([(await without.exited).code, without.stderr]).toEqual([
      2,
      expect.stringMatching(/no certificate.*compute-agent tls/),
    ]);
    await done("tls", "--name", "control.test");
    const wrong = await cluster("control-plane", "--port", "0", "--listen", ADDRESS);
    expect([(await wrong.exited).code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/is for control\.test, not for 127\./),
    ]);
    const join = await cluster("join");
    expect((await join.exited).code, "no control plane runs").toBe(4);
  });

  /** Restores a former key and certificate, like a user's own certificate. */
  async function writeOwn(text: string): Promise<void> {
    const file = join(folder, "own.pem");
    await writeFile(file, text, { mode: 0o600 });
    await done("tls", "--renew", "--cert", file);
  }
});
