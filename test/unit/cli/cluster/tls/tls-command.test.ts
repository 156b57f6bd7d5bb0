import { X509Certificate } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type KeyPair,
  makeAuthority,
  makeServerCertificate,
} from "../../../../../src/cli/cluster/tls/make-certificates.js";
import { certificateReport, renderTls } from "../../../../../src/cli/cluster/tls/tls-command.js";
import { stateDir } from "../../../../../src/control-plane/local/state-dir.js";
import type { Files } from "../../../../../src/runtime/files.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

const directory = stateDir("/state", "/");
const OPTIONS = { stateDir: "/state", name: [], address: [] };
const DAY = 86_400_000;
const FOR_YEARS = { from: Date.now() - DAY, until: Date.now() + 1_000 * DAY };

let files: Files;
beforeEach(() => {
  files = createVirtualRuntime().files;
});

function run(options: Partial<Parameters<typeof certificateReport>[0]> = {}) {
  return certificateReport({ ...OPTIONS, ...options }, files, directory);
}

const stored = async () => new X509Certificate(await files.read("/state/tls/server.pem"));
const mode = async (path: string) => ((await files.stat(path))?.mode ?? 0) & 0o777;

describe("compute-agent tls", () => {
  it("creates an authority and a certificate for the given names, with keys readable only by their owner", async () => {
    const report = await run({ name: ["control.test"], address: ["192.0.2.2", "2001:db8::2"], days: 10 });
    expect(report).toMatchObject({ made: true, daysLeft: 9 });
    const [ca, server] = [new X509Certificate(await files.read("/state/tls/ca.pem")), await stored()];
    expect(server.checkIssued(ca) && server.verify(ca.publicKey)).toBe(true);
    expect([ca.ca, server.ca]).toEqual([true, false]);
    expect(["192.0.2.2", "2001:db8::2", "192.0.2.3"].map((each) => server.checkIP(each) !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
    expect([server.checkHost("control.test"), server.checkHost("other.test")]).toEqual(["control.test", undefined]);
    expect(await Promise.all(["server", "authority", "ca"].map((each) => mode(`/state/tls/${each}.pem`)))).toEqual([
      0o600, 0o600, 0o644,
    ]);
    expect(await files.read("/state/tls/ca.pem")).not.toContain("PRIVATE");
  });

  it("uses the machine's name and addresses except loopback by default", async () => {
    const { certificate: made } = await run();
    expect(made.names.length).toBeGreaterThan(0);
    expect(made.names.filter((name) => /^127\.|^::1$|^fe80/.test(name))).toEqual([]);
  });

  it("prints existing certificates, and replaces them only with --renew", async () => {
    const first = await run({ address: ["192.0.2.2"] });
    expect(await run()).toEqual({ ...first, made: false });
    await expect(run({ address: ["192.0.2.3"] })).rejects.toThrow("/state/tls/server.pem exists already; --renew");
    await expect(run({ days: 5 })).rejects.toThrow("--renew");
    expect(await run()).toEqual({ ...first, made: false });
  });

  it("renews the certificate for the same names with the same authority, and the authority only on request", async () => {
    const first = await run({ address: ["192.0.2.2"], name: ["a.test"] });
    const second = await run({ renew: true });
    expect(second.certificate.names).toEqual(first.certificate.names);
    expect(second.certificate.fingerprint).not.toBe(first.certificate.fingerprint);
    expect(second.authority).toEqual(first.authority);
    const third = await run({ renew: true, name: ["b.test"] });
    expect([third.certificate.names, third.authority]).toEqual([["b.test"], first.authority]);
    const fourth = await run({ renewCa: true });
    expect(fourth.certificate.names).toEqual(["b.test"]);
    expect(fourth.authority?.fingerprint).not.toBe(first.authority?.fingerprint);
  });

  it("continues after a run that was killed between authority and certificate", async () => {
    const first = await run({ name: ["a.test"] });
    await files.remove("/state/tls/server.pem");
    const second = await run({ name: ["a.test"] });
    expect([second.made, second.authority]).toEqual([true, first.authority]);
  });

  it("reports the problem of a broken file, and replaces it on request", async () => {
    await run({ name: ["a.test"] });
    await files.write("/state/tls/server.pem", "garbage");
    await expect(run()).rejects.toThrow(/server\.pem cannot be used for TLS: there is no certificate; expected/);
    expect(await run({ renew: true, name: ["a.test"] })).toMatchObject({ made: true });
  });

  it("fits a terminal of 80 columns", async () => {
    const text = renderTls(await run({ name: [`${"a".repeat(50)}.test`], address: ["2001:db8:1::6"] }));
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(text).toContain("compute-agent up --listen [2001:db8:1::6] --state-dir /state");
  });
});

describe("a certificate of the user's own", () => {
  let authority: KeyPair;
  let own: KeyPair;
  beforeEach(async () => {
    authority = await makeAuthority("company", FOR_YEARS);
    own = await makeServerCertificate(authority, ["own.test"], FOR_YEARS);
    await files.write("/own.pem", own.cert);
    await files.write("/own.key", own.key);
    await files.write("/company.pem", authority.cert);
  });

  it("is accepted with its authority, or with the system's", async () => {
    const report = await run({ cert: "/own.pem", key: "/own.key", ca: "/company.pem" });
    expect(report.certificate.names).toEqual(["own.test"]);
    expect(await files.read("/state/tls/ca.pem")).toBe(authority.cert);
    await files.write("/both.pem", own.key + own.cert);
    expect((await run({ cert: "/both.pem", renew: true })).authority).toBeNull();
    expect(await files.readIfPresent("/state/tls/ca.pem")).toBeUndefined();
  });

  it("never replaces another one without --renew", async () => {
    await run({ name: ["a.test"] });
    await expect(run({ cert: "/own.pem", key: "/own.key" })).rejects.toThrow("--renew replaces it");
  });

  it("is rejected with another key or authority, when it has expired, or without names", async () => {
    const other = await makeServerCertificate(authority, ["x.test"], FOR_YEARS);
    await files.write("/other.key", other.key);
    await expect(run({ cert: "/own.pem", key: "/other.key" })).rejects.toThrow(
      "the key does not belong to the certificate",
    );
    await expect(run({ cert: "/own.pem" })).rejects.toThrow("there is no private key");
    await expect(run({ key: "/own.key" })).rejects.toThrow("passed with --cert");
    await files.write("/stranger.pem", (await makeAuthority("company", FOR_YEARS)).cert);
    await expect(run({ cert: "/own.pem", key: "/own.key", ca: "/stranger.pem" })).rejects.toThrow(
      /\/own\.pem was issued by CN=company, not by the authority in \/stranger\.pem/,
    );
    const late = await makeServerCertificate(authority, ["own.test"], {
      from: Date.now() - 9 * DAY,
      until: Date.now() - DAY,
    });
    await files.write("/late.pem", late.key + late.cert);
    await expect(run({ cert: "/late.pem" })).rejects.toThrow("expired on");
    await files.write("/nobody.pem", authority.key + authority.cert);
    await expect(run({ cert: "/nobody.pem" })).rejects.toThrow("has no names");
    await expect(run({ cert: "/absent.pem" })).rejects.toThrow("/absent.pem");
    expect(await files.list("/state/tls")).toEqual([]);
  });
});
