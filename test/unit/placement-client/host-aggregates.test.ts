import { describe, expect, it, test } from "vitest";
import { errorResponse } from "./bench.js";
import { NAMES, PROVIDER_RACE, S, twoHosts } from "./two-hosts.js";

const [ONE, TWO] = ["aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"] as const;
const hosts = twoHosts();

async function aggregates() {
  return ((await hosts.bench.ask("GET", `/resource_providers/${S}/aggregates`, "1.19")) as { aggregates: string[] })
    .aggregates;
}
const LOOK = ["GET /resource_providers?name=devstack1 1.14", "GET /resource_providers/S/aggregates 1.19"];
const WRITE = "PUT /resource_providers/S/aggregates 1.19";

describe("5.9: a host's provider is found by the host's name", () => {
  it("it is added to several aggregates and removed from one of them", async () => {
    await hosts.client.aggregateAddHost(ONE, "devstack1");
    expect(hosts.bench.requests(NAMES)).toEqual([...LOOK, WRITE]);
    await hosts.client.aggregateAddHost(TWO, "devstack1");
    expect((await aggregates()).sort()).toEqual([ONE, TWO]);
    await hosts.client.aggregateRemoveHost(ONE, "devstack1");
    expect(await aggregates()).toEqual([TWO]);
  });

  it("an unchanged membership is not written", async () => {
    await hosts.client.aggregateAddHost(ONE, "devstack1");
    hosts.bench.mark();
    await hosts.client.aggregateAddHost(ONE, "devstack1");
    await hosts.client.aggregateRemoveHost(TWO, "devstack1");
    expect(hosts.bench.requests(NAMES)).toEqual([...LOOK, ...LOOK]);
  });

  it("a missing provider cannot be added, and counts as removed", async () => {
    await expect(hosts.client.aggregateAddHost(ONE, "devstack9")).rejects.toMatchObject({
      code: "ResourceProviderNotFound",
    });
    await expect(hosts.client.aggregateRemoveHost(ONE, "devstack9")).resolves.toBeUndefined();
  });

  test.each([
    [3, true],
    [4, false],
  ])("another process writes %i times at the same time: it works %s", async (times, works) => {
    hosts.bench.inject({ on: "PUT /aggregates", does: PROVIDER_RACE, times });
    const joined = hosts.client.aggregateAddHost(ONE, "devstack1");
    if (works) {
      await joined;
    } else {
      await expect(joined).rejects.toMatchObject({ code: "ResourceProviderUpdateConflict" });
    }
    expect(hosts.bench.requests(NAMES).filter((request) => request.startsWith("PUT"))).toHaveLength(4);
    expect(await aggregates()).toEqual(works ? [ONE] : []);
  });

  it("a rejection is not a conflict: add and remove fail without a retry", async () => {
    hosts.bench.inject({ on: "PUT /aggregates", does: errorResponse(500, "", "oops"), times: 2 });
    await expect(hosts.client.aggregateAddHost(ONE, "devstack1")).rejects.toMatchObject({
      code: "ResourceProviderUpdateFailed",
    });
    expect(hosts.bench.requests(NAMES)).toEqual([...LOOK, `${WRITE} -> 500`]);
    hosts.bench.heal();
    await hosts.client.aggregateAddHost(ONE, "devstack1");
    hosts.bench.inject({ on: "PUT /aggregates", does: errorResponse(500, "", "oops") });
    await expect(hosts.client.aggregateRemoveHost(ONE, "devstack1")).rejects.toMatchObject({
      code: "ResourceProviderUpdateFailed",
    });
  });
});
