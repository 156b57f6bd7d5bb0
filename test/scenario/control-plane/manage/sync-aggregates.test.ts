import { beforeEach, describe, expect, test } from "vitest";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";
import { errorResponse } from "../../../unit/placement-client/bench.js";

let bench: ManageBench;
let d1: string;
let d2: string;

beforeEach(async () => {
  bench = await ManageBench.open();
  d1 = await bench.host("devstack1");
  d2 = await bench.host("devstack2");
});

function aggregate(name: string, ...hosts: readonly string[]): string {
  const { id, uuid } = bench.store.aggregates.create({ name, metadata: {} });
  for (const host of hosts) {
    bench.store.aggregates.addHost(id, host);
  }
  return uuid;
}

async function aggregatesOf(provider: string): Promise<readonly string[]> {
  const { aggregates } = (await bench.placement.ask("GET", `/resource_providers/${provider}/aggregates`)) as {
    aggregates: string[];
  };
  return aggregates.sort();
}

function dropNodes(host: string): void {
  for (const { id } of bench.store.computeNodes.byHost(host)) {
    bench.store.computeNodes.destroy(id, host);
  }
}

describe("7.5 sync_aggregates", () => {
  test("code 0: adds missing aggregates, removes none, and reports each step", async () => {
    const other = "a0000000-0000-4000-8000-000000000001";
    await bench.placement.ask("PUT", `/resource_providers/${d1}/aggregates`, "1.18", [other]);
    const one = aggregate("one", "devstack1", "devstack2");
    const two = aggregate("two", "devstack1");
    const added = (host: string, provider: string, uuid: string) =>
      `Processing host: ${host}\nSuccessfully added host (${host}) and provider (${provider}) to aggregate (${uuid}).\n`;
    expect(await bench.sync()).toEqual({
      rc: 0,
      stdout:
        `Filling in missing placement aggregates\nProcessing aggregate: one\n${added("devstack1", d1, one)}${added("devstack2", d2, one)}` +
        `Processing aggregate: two\n${added("devstack1", d1, two)}`,
    });
    expect([await aggregatesOf(d1), await aggregatesOf(d2)]).toEqual([[one, two, other].sort(), [one]]);
    bench.placement.mark();
    expect(await bench.sync({ verbose: false })).toEqual({ rc: 0, stdout: "" });
    expect(bench.placement.requests().filter((line) => line.startsWith("PUT"))).toEqual([]);
  });

  test("code 1: stops at a host with several nodes", async () => {
    const [node] = bench.store.computeNodes.byHost("devstack1");
    if (!node?.serviceId) {
      throw new Error("no node");
    }
    const { id: _id, ...resources } = node;
    const uuid = "b0000000-0000-4000-8000-000000000001";
    bench.store.computeNodes.create({
      host: "devstack1",
      serviceId: node.serviceId,
      uuid,
      hypervisorHostname: "node2",
      resources,
    });
    aggregate("one", "devstack1", "devstack2");
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 1,
      stdout:
        "Unexpected number of compute node records (2) found for host devstack1. There should only be a one-to-one mapping.\n",
    });
    expect(await aggregatesOf(d2)).toEqual([]);
  });

  test("code 2: a provider's aggregates cannot be read", async () => {
    aggregate("one", "devstack1");
    bench.placement.inject({ on: "GET /aggregates", does: errorResponse(500, "x", "boom") });
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 2,
      stdout: `Failed to get aggregates for resource provider with UUID ${d1}\n`,
    });
  });

  const failed = (uuid: string, error: string) =>
    `Failed updating provider aggregates for host (devstack1), provider (${d1}) and aggregate (${uuid}). Error: ${error}\n`;

  test("code 3: a provider's aggregates cannot be written", async () => {
    const uuid = aggregate("one", "devstack1");
    bench.placement.inject({ on: "PUT /aggregates", does: errorResponse(500, "x", "boom") });
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 3,
      stdout: failed(uuid, `Failed to update resource provider via URL /resource_providers/${d1}/aggregates: boom`),
    });
  });

  test("code 3: no connection", async () => {
    const uuid = aggregate("one", "devstack1");
    bench.placement.inject({ on: "GET /aggregates", does: "refuse" });
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 3,
      stdout: failed(uuid, "Unable to communicate with the Placement API."),
    });
  });

  test("a conflict is retried, four times at most", async () => {
    const uuid = aggregate("one", "devstack1");
    const conflict = errorResponse(409, "placement.concurrent_update", "resource provider generation conflict");
    bench.placement.inject({ on: "PUT /aggregates", does: conflict, times: 3 });
    expect((await bench.sync()).rc).toBe(0);
    expect(await aggregatesOf(d1)).toEqual([uuid]);
    aggregate("two", "devstack1");
    bench.placement.inject({ on: "PUT /aggregates", does: conflict, times: 4 });
    expect(await bench.sync({ verbose: false })).toMatchObject({
      rc: 3,
      stdout: expect.stringContaining(
        `A conflict was encountered attempting to update resource provider ${d1} (generation `,
      ),
    });
  });

  test("code 4: hosts without a cell mapping, reported at the end", async () => {
    bench.store.mappings.unmapHost("devstack1");
    const uuid = aggregate("one", "devstack1", "devstack2");
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 4,
      stdout:
        "The following hosts were found in nova host aggregates but no host mappings were found in the nova API DB. Run " +
        '"nova-manage cell_v2 discover_hosts" and then retry. Missing: devstack1\n',
    });
    expect(await aggregatesOf(d2)).toEqual([uuid]);
  });

  test("code 5: hosts without a compute node", async () => {
    aggregate("one", "devstack1", "devstack2");
    dropNodes("devstack1");
    expect(await bench.sync({ verbose: false })).toEqual({
      rc: 5,
      stdout:
        "Unable to find matching compute_nodes record entries in the cell database for the following hosts; does the " +
        "nova-compute service on each host need to be restarted? Missing: devstack1\n",
    });
  });

  test("code 6: hosts without a provider; the last of several reasons is reported", async () => {
    const uuid = aggregate("one", "devstack1", "devstack2");
    await bench.placement.ask("DELETE", `/resource_providers/${d1}`);
    const missing =
      `Unable to find matching resource provider record in placement with uuid for the following hosts: (devstack1=${d1}). ` +
      "Try restarting the nova-compute service on each host and then retry.\n";
    expect(await bench.sync({ verbose: false })).toEqual({ rc: 6, stdout: missing });
    expect(await aggregatesOf(d2)).toEqual([uuid]);
    dropNodes("devstack2");
    const { rc, stdout } = await bench.sync({ verbose: false });
    expect([rc, stdout.endsWith(missing), stdout.includes("Missing: devstack2\n")]).toEqual([6, true, true]);
  });
});
