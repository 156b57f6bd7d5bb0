import { beforeEach, describe, expect, it } from "vitest";
import { writeJoinConfig } from "../../../../src/cli/cluster/join.js";
import {
  type ListenFlags,
  listenArguments,
  listenWarnings,
  placeIn,
  resolveExternalListener,
} from "../../../../src/cli/cluster/listen.js";
import {
  type KeyPair,
  makeAuthority,
  makeServerCertificate,
} from "../../../../src/cli/cluster/tls/make-certificates.js";
import { TlsFiles } from "../../../../src/cli/cluster/tls/tls-files.js";
import { readConfigSources } from "../../../../src/config/config-sources.js";
import { compileNovaConfig } from "../../../../src/config/nova-config.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { createVirtualRuntime, type VirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const directory = stateDir("/state", "/");
const DAY = 86_400_000;

let runtime: VirtualRuntime;
let tls: TlsFiles;
let authority: KeyPair;

beforeEach(async () => {
  runtime = createVirtualRuntime();
  tls = new TlsFiles(runtime.files, directory);
  const now = runtime.clock.now();
  authority = await makeAuthority("CA", { from: now - DAY, until: now + 1_000 * DAY });
});

async function keep(names: readonly string[], from = -1, until = 100): Promise<void> {
  const now = runtime.clock.now();
  const validity = { from: now + from * DAY, until: now + until * DAY };
  await tls.keepServer(await makeServerCertificate(authority, names, validity), authority.cert);
}
function resolveListener(flags: ListenFlags, before?: string) {
  return resolveExternalListener(flags, directory, runtime, before);
}

describe("--listen", () => {
  it.each([
    ["192.0.2.2", { address: "192.0.2.2" }, "192.0.2.2"],
    ["192.0.2.2:0", { address: "192.0.2.2", port: 0 }, "192.0.2.2:0"],
    ["[2001:db8::2]:99", { address: "2001:db8::2", port: 99 }, "[2001:db8::2]:99"],
    ["2001:db8::2", { address: "2001:db8::2" }, "[2001:db8::2]"],
    ["control.test:8775", { address: "control.test", port: 8775 }, "control.test:8775"],
  ])("accepts %s, and passes it to a child", (text, place, again) => {
    expect(placeIn(text)).toEqual(place);
    expect(listenArguments({ listen: place })).toEqual(["--listen", again]);
    expect(placeIn(again)).toEqual(place);
  });

  it.each(["", ":8775", "192.0.2.2:", "192.0.2.2:70000", "[control]:1", "a b", "https://192.0.2.2", "192.0.2.2:1:2"])(
    "rejects %j",
    (text) => expect(() => placeIn(text)).toThrow("expected an address"),
  );

  it("starts no external listener by default", async () => {
    expect(await resolveListener({})).toBeUndefined();
    expect(listenArguments({})).toEqual([]);
    await expect(resolveListener({ listenWithoutTls: true })).rejects.toThrow("requires --listen ADDRESS");
  });

  it("rejects a listener without a certificate, and names the command that creates one", async () => {
    await expect(resolveListener({ listen: { address: "192.0.2.2" } })).rejects.toThrow(
      'no certificate for listening on 192.0.2.2: create one with "compute-agent tls --state-dir /state --address 192.0.2.2"',
    );
  });

  it("listens in plain text only with the flag, and logs a clear warning", async () => {
    const flags: ListenFlags = { listen: { address: "192.0.2.2" }, listenWithoutTls: true };
    expect(await resolveListener(flags)).toMatchObject({
      address: "192.0.2.2",
      port: 8775,
      host: "192.0.2.2",
      cacert: null,
    });
    expect(listenWarnings(flags)).toEqual([expect.stringMatching(/^LISTENING ON 192\.0\.2\.2 WITHOUT TLS: /)]);
    expect(runtime.logs.map(({ level, message }) => [level, message])).toContainEqual([
      "warn",
      listenWarnings(flags)[0],
    ]);
    expect(listenArguments(flags)).toContain("--listen-without-tls");
  });

  it("uses the existing certificate, and the port of the last start", async () => {
    await keep(["control.test", "192.0.2.2"]);
    const found = await resolveListener({ listen: { address: "192.0.2.2" } }, "https://192.0.2.2:4711");
    expect(found).toMatchObject({ port: 4711, lastPort: 4711, host: "192.0.2.2", cacert: "/state/tls/ca.pem" });
    expect(found?.names).toEqual(["control.test", "192.0.2.2"]);
    expect(await resolveListener({ listen: { address: "control.test", port: 0 } })).toMatchObject({
      port: 0,
      host: "control.test",
    });
    expect(await resolveListener({ listen: { address: "0.0.0.0" } })).toMatchObject({ port: 8775, host: "192.0.2.2" });
  });

  it("rejects a certificate for other names, and one that is not valid now", async () => {
    await keep(["192.0.2.2"]);
    await expect(resolveListener({ listen: { address: "192.0.2.3" } })).rejects.toThrow(
      /server\.pem is for 192\.0\.2\.2, not for 192\.0\.2\.3: create a new one with .*--address 192\.0\.2\.3 --renew/,
    );
    await keep(["192.0.2.2"], -9, -1);
    await expect(resolveListener({ listen: { address: "192.0.2.2" } })).rejects.toThrow(
      /is valid from .* to .*, which is not now.*--renew/,
    );
    await keep(["192.0.2.2"], 1, 9);
    await expect(resolveListener({ listen: { address: "192.0.2.2" } })).rejects.toThrow("not now");
  });

  it("warns about a certificate that expires soon", async () => {
    await keep(["192.0.2.2"], -1, 9);
    await resolveListener({ listen: { address: "192.0.2.2" } });
    expect(runtime.logs.map(({ message }) => message)).toEqual([expect.stringMatching(/ends on .*tls --renew/)]);
  });
});

describe("compute-agent join", () => {
  const started = async (externalUrl?: string) => {
    const info = {
      url: "http://127.0.0.1:8774",
      pid: 1,
      machine: "m",
      ...(externalUrl && { externalUrl: externalUrl }),
    };
    await runtime.files.write("/state/cluster.json", JSON.stringify(info));
    await runtime.files.write("/state/join-token", "secret\n", { mode: 0o600 });
  };

  it("writes address, CA and token into one nova.conf that only its owner can read", async () => {
    await keep(["control.test", "192.0.2.2"]);
    await started("https://192.0.2.2:8775");
    const { url, file } = await writeJoinConfig(undefined, runtime.files, directory);
    expect([url, file]).toEqual(["wss://192.0.2.2:8775/conductor", "/state/join.conf"]);
    expect(((await runtime.files.stat(file))?.mode ?? 0) & 0o777).toBe(0o600);
    const sources = await readConfigSources(runtime.files, { configFiles: [file], environment: {}, commandLine: [] });
    const { config, warnings } = compileNovaConfig(sources, { stateDir: "/elsewhere", hostname: "h" });
    expect(warnings).toEqual([]);
    expect(config.conductor).toMatchObject({ url, joinToken: "secret", ca: authority.cert.trim() });
  });

  it("accepts another name of the certificate, and rejects others", async () => {
    await keep(["control.test", "192.0.2.2"]);
    await started("https://192.0.2.2:8775");
    expect((await writeJoinConfig("control.test", runtime.files, directory)).url).toBe(
      "wss://control.test:8775/conductor",
    );
    await expect(writeJoinConfig("other.test", runtime.files, directory)).rejects.toThrow("is not for other.test");
  });

  it("reports what is missing when joining is impossible", async () => {
    await expect(writeJoinConfig(undefined, runtime.files, directory)).rejects.toThrow("/state has no cluster");
    await started();
    await expect(writeJoinConfig(undefined, runtime.files, directory)).rejects.toThrow(
      /http:\/\/127\.0\.0\.1:8774 only.*--listen/,
    );
  });
});
