import { expect, it } from "vitest";
import { placementTls } from "../../../../src/cli/agent/placement-tls.js";
import { parseIni } from "../../../../src/config/ini-file.js";
import { compileNovaConfig } from "../../../../src/config/nova-config.js";
import { createVirtualRuntime } from "../../../../src/simulation/create-virtual-runtime.js";

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
  expect(await placementTls(config, files)).toEqual(tls);
});

it("[placement] cafile that is not there is told by its name", async () => {
  const { files } = createVirtualRuntime();
  const sources = { files: [parseIni("[placement]\ncafile = /nowhere.pem\n", "x")], environment: {}, commandLine: [] };
  const { config } = compileNovaConfig(sources, { stateDir: "/state", hostname: "h" });
  await expect(placementTls(config, files)).rejects.toThrow("/nowhere.pem");
});
