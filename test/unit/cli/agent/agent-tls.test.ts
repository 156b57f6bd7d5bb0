import { describe, expect, it } from "vitest";
import { agentTls } from "../../../../src/cli/agent/connect.js";
import { makeAuthority } from "../../../../src/cli/cluster/tls/make-certificates.js";
import { parseIni } from "../../../../src/config/ini-file.js";
import { compileNovaConfig } from "../../../../src/config/nova-config.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

it.each([
  ["", { verify: true }],
  ["insecure = true", { verify: false }],
  ["cafile = /ca.pem", { verify: true, ca: "authority" }],
  ["certfile = /cert.pem", { verify: true, cert: "both", key: "both" }],
  ["certfile = /cert.pem\nkeyfile = /key.pem", { verify: true, cert: "both", key: "own" }],
])("[placement] %s", async (lines, tls) => {
  const { files } = createVirtualRuntime();
  await files.write("/ca.pem", "authority");
  await files.write("/cert.pem", "both");
  await files.write("/key.pem", "own");
  const sources = { files: [parseIni(`[placement]\n${lines}\n`, "nova.conf")], environment: {}, commandLine: [] };
  const { config } = compileNovaConfig(sources, { stateDir: "/state", hostname: "h" });
  expect(await agentTls(config, files)).toEqual({ tls });
});

it("[placement] cafile that is not there is told by its name", async () => {
  const { files } = createVirtualRuntime();
  const sources = { files: [parseIni("[placement]\ncafile = /nowhere.pem\n", "x")], environment: {}, commandLine: [] };
  const { config } = compileNovaConfig(sources, { stateDir: "/state", hostname: "h" });
  await expect(agentTls(config, files)).rejects.toThrow("/nowhere.pem");
});

it("[glance] and the driver's section have TLS of their own where they set some", async () => {
  const { files } = createVirtualRuntime();
  await files.write("/placement.pem", "placement");
  await files.write("/glance.pem", "glance");
  await files.write("/ironic.pem", "ironic");
  const text = "[placement]\ncafile = /placement.pem\n[glance]\ncafile = /glance.pem\n";
  const sources = { files: [parseIni(text, "nova.conf")], environment: {}, commandLine: [] };
  const { config } = compileNovaConfig(sources, { stateDir: "/state", hostname: "h" });
  const ironic = { section: "ironic", options: { cafile: "/ironic.pem", insecure: false } };
  const { tls, tlsSections } = await agentTls(config, files, ironic);
  expect(tls).toEqual({ verify: true, ca: "placement" });
  expect(Object.fromEntries(tlsSections ?? [])).toEqual({
    glance: { verify: true, ca: "glance" },
    ironic: { verify: true, ca: "ironic" },
  });
  expect(
    await agentTls(config, files, { section: "ironic", options: { cafile: null, insecure: false } }),
  ).toMatchObject({
    tlsSections: new Map([["glance", { verify: true, ca: "glance" }]]),
  });
});

describe("[conductor]", () => {
  const compile = (lines: string) => {
    const sources = { files: [parseIni(`[conductor]\n${lines}\n`, "join.conf")], environment: {}, commandLine: [] };
    return compileNovaConfig(sources, { stateDir: "/state", hostname: "h" }).config;
  };

  it.each([
    ["wss://Control.Example:8775/conductor", "https://control.example:8775"],
    ["https://[2001:db8::2]:8775", "https://[2001:db8::2]:8775"],
  ])("the authority of %s is for that origin alone, WebSockets and HTTP", async (url, origin) => {
    const { files } = createVirtualRuntime();
    const { cert } = await makeAuthority("CA", { from: 0, until: 1e12 });
    const indented = cert.trim().replaceAll("\n", "\n  ");
    const { trusted } = await agentTls(compile(`url = ${url}\nca = ${indented}`), files);
    expect([...(trusted ?? [])]).toEqual([[origin, { verify: true, ca: cert.trim() }]]);
    await files.write("/ca.pem", cert);
    const fromFile = await agentTls(compile(`url = ${url}\ncafile = /ca.pem`), files);
    expect(fromFile.trusted?.get(origin)?.ca).toBe(cert);
  });

  it.each(["nothing of that kind", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])(
    "a cafile without a certificate is refused by its name: %s",
    async (text) => {
      const { files } = createVirtualRuntime();
      await files.write("/ca.pem", text);
      const config = compile("url = wss://c:1\ncafile = /ca.pem");
      await expect(agentTls(config, files)).rejects.toThrow(/\/ca\.pem.*no readable certificate; expected/);
    },
  );
});
