import { beforeEach, describe, expect, test } from "vitest";
import { openClusterIronic, writeIronicConfig } from "../../../../src/control-plane/cluster-ironic.js";
import { writeCloudsYaml } from "../../../../src/control-plane/identity/clouds-yaml.js";
import { createIdentity, type Identity } from "../../../../src/control-plane/identity/identity.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";

const DIRECTORY = stateDir("/cluster", "/");

let world: VirtualWorld;
let runtime: VirtualRuntime;
let store: Store;
let identity: Identity;

beforeEach(async () => {
  world = new VirtualWorld({ seed: 3 });
  runtime = world.spawn({ name: "control-plane" });
  store = emptyStore({ runtime });
  identity = createIdentity({ ...runtime, sql: store.database, digests: quickDigests });
});

function open(nodes: number) {
  return world.runUntil(openClusterIronic({ runtime, store, identity, directory: DIRECTORY, nodes }));
}
const flavors = () => store.flavors.list().map(({ name, extraSpecs }) => [name, extraSpecs]);

describe("a cluster's embedded Ironic", () => {
  test("has no nodes and no bare-metal flavor unless nodes are requested", async () => {
    await open(0);
    expect(flavors()).toEqual([]);
  });

  test("creates a flavor of exactly one node only once", async () => {
    await open(2);
    await open(2);
    expect(flavors()).toEqual([
      [
        "baremetal",
        {
          "resources:CUSTOM_BAREMETAL": "1",
          "resources:VCPU": "0",
          "resources:MEMORY_MB": "0",
          "resources:DISK_GB": "0",
        },
      ],
    ]);
  });

  test("accepts tokens of the embedded Identity", async () => {
    const ironic = await open(1);
    const { token } = identity.issueServiceToken("nova");
    const request = { method: "GET", path: "/v1/nodes", query: "", body: "", baseUrl: "http://x/baremetal" };
    const ask = async (authToken: string) =>
      (await ironic.handle({ ...request, headers: { "x-auth-token": authToken } })).status;
    expect([await ask(token), await ask("forged")]).toEqual([200, 401]);
  });

  test("writes a configuration file with credentials for its agents", async () => {
    const authUrl = "http://127.0.0.1:8774/identity/v3";
    await writeCloudsYaml(runtime.files, DIRECTORY.cloudsFile, identity, authUrl);
    await writeIronicConfig(runtime.files, DIRECTORY, authUrl);
    const text = await runtime.files.read(DIRECTORY.ironicConfig);
    expect(text).toMatch(/^\[DEFAULT\]\ncompute_driver = ironic\n\[ironic\]\nauth_type = password\n/);
    expect(text).toContain(`auth_url = ${authUrl}\nusername = admin\n`);
    const [, password = ""] = /^password = (\S+)$/m.exec(text) ?? [];
    expect(await identity.ensurePassword("admin", password)).toBe(password);
  });
});
