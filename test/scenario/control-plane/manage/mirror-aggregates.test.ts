import { beforeEach, describe, expect, test } from "vitest";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";
import { errorResponse } from "../../../unit/placement-client/bench.js";

const OTHER = "a0000000-0000-4000-8000-000000000001";
const HOSTS = ["devstack1", "devstack2", "never-up"];

let bench: ManageBench;
let d1: string;
let d2: string;
let one: string;
let two: string;

beforeEach(async () => {
  bench = await ManageBench.open();
  d1 = await bench.host("devstack1");
  d2 = await bench.host("devstack2");
  await bench.placement.ask("PUT", `/resource_providers/${d1}/aggregates`, "1.18", [OTHER]);
  one = aggregate("one", "devstack1", "devstack2", "never-up");
  two = aggregate("two", "devstack1");
});

function aggregate(name: string, ...hosts: readonly string[]): string {
  const { id, uuid } = bench.store.aggregates.create({ name, metadata: {} });
  bench.store.aggregates.changeHosts(id, { joined: hosts, left: [] });
  return uuid;
}

async function aggregatesOf(provider: string): Promise<readonly string[]> {
  const { aggregates } = (await bench.placement.ask("GET", `/resource_providers/${provider}/aggregates`)) as {
    aggregates: string[];
  };
  return aggregates.sort();
}

describe("5.9 the mirror of a cluster file's aggregates", () => {
  test("puts each host that is up in its aggregates, and sends few requests if all are", async () => {
    expect(await bench.mirror(HOSTS)).toEqual(["devstack1", "devstack2"]);
    expect([await aggregatesOf(d1), await aggregatesOf(d2)]).toEqual([[one, two, OTHER].sort(), [one]]);
    await bench.mirror(["devstack1", "devstack2"]);
    bench.placement.mark();
    expect(await bench.mirror(["devstack1", "devstack2"])).toEqual([]);
    expect(bench.placement.requests()).toHaveLength(2);
  });

  test("removes hosts from aggregates that they have left, and does not change other aggregates", async () => {
    await bench.mirror(HOSTS);
    const [{ id } = { id: 0 }] = bench.store.aggregates.list();
    bench.store.aggregates.changeHosts(id, { joined: [], left: ["devstack1", "devstack2"] });
    expect(await bench.mirror(["devstack1"])).toEqual(["devstack1"]);
    expect([await aggregatesOf(d1), await aggregatesOf(d2)]).toEqual([[two, OTHER].sort(), [one]]);
  });

  test("retries after a concurrent change of the provider", async () => {
    bench.placement.inject({
      on: "PUT /aggregates",
      does: errorResponse(409, "placement.concurrent_update", "conflict"),
    });
    await bench.mirror(HOSTS);
    expect(await aggregatesOf(d2)).toEqual([one]);
  });
});
