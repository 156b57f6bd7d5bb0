import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claim, get, patch, put } from "./contract/client.js";
import { HOW_TO_INSTALL, isInstalled, type RealIronic, startRealIronic } from "./real-ironic.js";

let ironic: RealIronic;

beforeAll(async () => {
  if (!isInstalled()) {
    throw new Error(HOW_TO_INSTALL);
  }
  ironic = await startRealIronic({ deployDelay: 30 });
  await ironic.enrol(1_200, ["CUSTOM_BM"]);
});

afterAll(async () => {
  await ironic?.stop();
});

describe("the real Ironic, started and filled by this project's scripts", () => {
  test("lists more than a thousand schedulable nodes in two pages", async () => {
    const query = "fields=uuid,name,provision_state,power_state,traits,resource_class";
    const first = (await get(ironic, `/v1/nodes?${query}`)).body.nodes as Record<string, unknown>[];
    expect(first).toHaveLength(1_000);
    expect(first[0]).toMatchObject({
      uuid: "ba5eba11-0000-4000-8000-000000000000",
      name: "bm-000000",
      provision_state: "available",
      power_state: "power off",
      traits: ["CUSTOM_BM"],
      resource_class: "baremetal",
    });
    const rest = await get(ironic, `/v1/nodes?${query}&marker=${first.at(-1)?.uuid}`);
    expect(rest.body.nodes).toHaveLength(200);
    expect(rest.body.next).toBeUndefined();
  });

  test("copied nodes are claimed and deployed; a killed conductor fails its current deployments", async () => {
    const path = "/v1/nodes/bm-000007";
    expect((await patch(ironic, path, claim(randomUUID()))).status).toBe(200);
    expect((await put(ironic, `${path}/states/provision`, { target: "active" })).status).toBe(202);
    await ironic.kill("conductor");
    expect((await get(ironic, path)).body).toMatchObject({ provision_state: "deploying", reservation: "localhost" });
    await ironic.restart();
    for (;;) {
      const { provision_state: state, reservation } = (await get(ironic, path)).body;
      if (state !== "deploying" && reservation === null) {
        break;
      }
      await ironic.wait();
    }
    expect((await get(ironic, path)).body.provision_state).toBe("deploy failed");
  });
});
