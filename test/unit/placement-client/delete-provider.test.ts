import { beforeEach, describe, expect, it } from "vitest";
import { errorResponse, inventoryOf } from "./bench.js";
import { CHILD, D, FLAVOR, I, M, NAMES, on, S, twoHosts } from "./two-hosts.js";

const GRANDCHILD = "00000000-0000-4000-8000-000000000005";
const names = { ...NAMES, [CHILD]: "CHILD", [GRANDCHILD]: "GRANDCHILD" };
const hosts = twoHosts();
const { claim, held } = hosts;
function deletions() {
  return hosts.bench
    .requests(names)
    .filter((request) => request.startsWith("DELETE /resource_providers"))
    .map((request) => request.replace("DELETE /resource_providers/", ""));
}

describe("5.8: deletion of a tree", () => {
  beforeEach(async () => {
    const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
    tree.newChild("devstack1_gpu", S, CHILD);
    tree.newChild("devstack1_vf", CHILD, GRANDCHILD);
    tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
    await hosts.client.updateFromProviderTree(tree);
    hosts.bench.mark();
  });

  it("deletes the leaves first; afterwards the tree can be created again", async () => {
    expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [] });
    expect(deletions()).toEqual(["GRANDCHILD", "CHILD", "S"]);
    hosts.bench.mark();
    await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
    expect(hosts.bench.requests(names)).toContain("POST /resource_providers 1.20");
  });

  it("keeps and names providers in use and their parents; deletes the others, which can be created again", async () => {
    await claim({ [CHILD]: { resources: { VGPU: 1 } } });
    hosts.bench.mark();
    expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [CHILD, S] });
    expect(deletions()).toEqual(["GRANDCHILD", "CHILD -> 409", "S -> 409"]);
    hosts.bench.mark();
    const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
    expect([tree.exists(CHILD), tree.exists(GRANDCHILD)]).toEqual([true, false]);
    expect(hosts.bench.requests(names), "it is known still").toEqual([]);
  });

  it("keeps what Placement fails to delete; a missing provider counts as deleted", async () => {
    hosts.bench.inject({ on: `DELETE /resource_providers/${CHILD}`, does: errorResponse(500, "", "oops") });
    expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [CHILD, S] });
    await hosts.bench.ask("DELETE", `/resource_providers/${CHILD}`);
    hosts.bench.inject({ on: `DELETE /resource_providers/${S}`, does: errorResponse(404, "", "gone") });
    expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [] });
  });

  it("ends with an unexpected error", async () => {
    const does = () => Promise.reject(new TypeError("unforeseen"));
    hosts.bench.inject({ on: `DELETE /resource_providers/${CHILD}`, does });
    await expect(hosts.client.deleteResourceProvider(S)).rejects.toThrow("unforeseen");
    expect(deletions()).toEqual(["GRANDCHILD"]);
  });

  it("deletes all allocations of its instances by force, those of evacuated ones in this tree only, without a retry", async () => {
    await claim(on(S, D), "replace", M);
    await claim({ ...on(S, D), [CHILD]: { resources: { VGPU: 1 } } });
    hosts.bench.mark();
    const cascade = { instances: [M], evacuated: [I] };
    expect(await hosts.client.deleteResourceProvider(S, { cascade })).toEqual({ remaining: [] });
    expect(hosts.bench.requests(names).slice(0, 4)).toEqual([
      "DELETE /allocations/M",
      "GET /allocations/I 1.28",
      "GET /resource_providers?in_tree=S 1.14",
      "PUT /allocations/I 1.28",
    ]);
    expect([await held(M), await held(I)]).toEqual([{}, { [D]: FLAVOR }]);
    const race = errorResponse(409, "placement.concurrent_update", "another");
    hosts.bench.inject({ on: "PUT /allocations", does: race });
    await hosts.client.deleteResourceProvider(D, { cascade: { instances: [], evacuated: [I] } });
    expect(await held(I)).toEqual({ [D]: FLAVOR });
    const complaints = hosts.bench.logs.filter(({ message }) => message.includes("could not be removed"));
    expect(complaints).toHaveLength(1);
  });
});
