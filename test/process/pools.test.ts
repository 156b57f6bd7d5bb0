import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quietLogger } from "../../src/cli/ui/logging.js";
import type { ControlPlane } from "../../src/control-plane/control-plane.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import { expandHosts } from "../../src/records/host-names.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { openControlPlane } from "../fixtures/world/control-plane.js";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import { Program } from "./support/program.js";

const RANGE = "rack[1-2]-node[01-25]";

describe("an agent process with many hosts", () => {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const programs: Program[] = [];
  let folder: string;
  let controlPlane: ControlPlane;
  let cloud: LocalCloud;
  let operator: Operator;
  let pool: Program;

  const run = (name: "compute-agent" | "compute-cluster", ...args: readonly string[]): Program => {
    const program = new Program(name, [...args, "--state-dir", folder]);
    programs.push(program);
    return program;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "compute-agent-"));
    controlPlane = await openControlPlane({ runtime, directory: stateDir(folder, "/") });
    cloud = LocalCloud.over(folder, controlPlane.url);
    operator = new Operator(cloud);
    pool = run("compute-agent", "--host", RANGE);
    await pool.printed(/50 of 50 hosts serve\n/);
  });

  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill()));
    await controlPlane.stop();
    await runtime.http.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("logs one line for the first start of all its hosts", () => {
    // A slow machine also logs how far the start is.
    const lines = pool.stderr.split("\n").filter((line) => !line.endsWith(" starting"));
    expect(lines.join("\n")).toMatch(/^\S+ \S+ \d+ INFO 50 of 50 hosts serve\n$/);
  });

  it("loses ten of them during their work, starts them again, and has no inconsistency", async () => {
    const killed = expandHosts(RANGE).slice(0, 10);
    const { controls } = controlPlane;
    const servers = await Promise.all(killed.map((host, index) => operator.boot(`vm${index}`, { host })));
    await Promise.all(servers.map((id) => operator.serverIn(id, "ACTIVE")));
    await Promise.all(servers.map((id) => cloud.compute("POST", `/servers/${id}/action`, { "os-stop": null })));
    expect(await Promise.all(killed.map((host) => controls.control(host, "kill")))).toEqual(
      killed.map((host) => ({ host, state: "killed", detail: "" })),
    );
    expect(controls.known().filter(({ state }) => state === "serving")).toHaveLength(40);
    const started = await Promise.all(killed.map((host) => controls.control(host, "start")));
    expect(started.map(({ state }) => state)).toEqual(killed.map(() => "serving"));
    expect(pool.running).toBe(true);
    for (const id of servers) {
      await operator.serverIn(id, "SHUTOFF");
    }
    const audit = run("compute-cluster", "audit");
    const { code } = await audit.exited;
    expect({ code, found: `${audit.stdout}${audit.stderr}` }).toEqual({
      code: 0,
      found: expect.stringMatching(/^nothing wrong/),
    });
  });

  it("exits with the code of the rejection when none of its hosts serves, and names each", async () => {
    const uri = `fake_libvirt.connection_uri=fake-libvirt://${join(folder, "hypervisors", "rack2-node25")}`;
    const rejected = run("compute-agent", "--host", "other[1-3]", "-o", uri);
    const { code } = await rejected.exited;
    expect(code).toBe(3);
    expect(rejected.stderr).toMatch(/3 hosts do not serve \(refused: [a-z-]+\): other\[1-3\]; other1: /);
    expect(rejected.stderr).toContain("0 of 3 hosts serve; 3 failed: other[1-3]");
  });

  it("with one host is killed with the host, and drains with it", async () => {
    const { controls } = controlPlane;
    const first = run("compute-agent", "--host", "alone");
    await first.printed(/host alone is serving/);
    expect(await controls.control("alone", "kill")).toMatchObject({ host: "alone", state: "killed" });
    expect(await first.exited).toEqual({ code: null, signal: "SIGKILL" });
    const second = run("compute-agent", "--host", "alone");
    await second.printed(/host alone is serving/);
    expect(await controls.control("alone", "stop")).toMatchObject({ host: "alone", state: "stopped" });
    expect(await second.exited).toEqual({ code: 0, signal: null });
  });

  it("releases all leases when it is stopped", async () => {
    pool.signal("SIGTERM");
    expect(await pool.exited).toEqual({ code: 0, signal: null });
    expect(controlPlane.store.leases.list()).toEqual([]);
  });
});
