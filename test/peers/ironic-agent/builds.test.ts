import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../process/support/cloud.js";
import { BaremetalHarness, nodeUuid } from "./baremetal-harness.js";

const NODES = Array.from({ length: 20 }, (_, index) => nodeUuid(index));

let harness: BaremetalHarness;

beforeAll(async () => {
  harness = await BaremetalHarness.open(NODES.length, { deployDelay: 1 });
  await harness.startAgent("bm1");
  await harness.free(NODES);
  harness.watch.start();
});

afterEach(async () => {
  await harness.watch.looked();
  expect([...harness.watch.breaches]).toEqual([]);
});

afterAll(async () => {
  await harness?.dispose();
});

function bootMany(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => harness.boot(`bm-${index}`)));
}
const settle = (ids: readonly string[]): Promise<Json[]> => Promise.all(ids.map((id) => harness.settled(id)));
const destroyAll = (ids: readonly string[]) => Promise.all(ids.map((id) => harness.destroy(id)));
const isActive = ({ status }: Json): boolean => String(status) === "ACTIVE";
const nodeOf = (server: Json): string => String(server["OS-EXT-SRV-ATTR:hypervisor_hostname"]);
async function hostsOf(): Promise<string[]> {
  const { body } = await harness.cloud.compute("GET", "/os-hypervisors/detail");
  return Object.values(body.hypervisors ?? {}).map(({ service }) => String(service?.host));
}

/**
 * Checks that an active server has an allocation on its node and is Ironic's instance there, and that one in error has
 * no allocations.
 */
async function expectAccounted(servers: readonly Json[]): Promise<void> {
  for (const server of servers) {
    const held = await harness.held(String(server.id));
    const node = nodeOf(server);
    if (!isActive(server)) {
      expect(held, JSON.stringify(server.fault)).toEqual({});
    } else {
      expect(Object.keys(held)).toEqual([node]);
      expect(await harness.node(node)).toMatchObject({ instance_uuid: server.id, provision_state: "active" });
    }
  }
}

describe("building on a real Ironic", () => {
  test("twenty servers are built and deleted at the same time, each on its own node", async () => {
    const ids = await bootMany(NODES.length);
    const servers = await settle(ids);
    expect(servers.filter(isActive)).toHaveLength(NODES.length);
    expect(new Set(servers.map(nodeOf)).size).toBe(NODES.length);
    await expectAccounted(servers);
    await harness.passed("bm1");
    expect(await Promise.all(NODES.map((node) => harness.reserved(node)))).toEqual(NODES.map(() => 1));
    await destroyAll(ids);
    expect(await Promise.all(ids.map((id) => harness.held(id)))).toEqual(ids.map(() => ({})));
    await harness.free(NODES);
  });

  test("of ten servers for one free node, one is built and the others have no node and no allocations", async () => {
    const [node = "", ...others] = NODES;
    await Promise.all(others.map((uuid) => harness.maintenance(uuid, true)));
    await harness.passed("bm1");
    const ids = await bootMany(10);
    const servers = await settle(ids);
    expect(servers.filter(isActive).map(nodeOf)).toEqual([node]);
    const faults = servers.filter((server) => !isActive(server)).map(({ fault }) => String(fault?.message));
    expect(faults).toEqual(Array.from({ length: 9 }, () => expect.stringMatching(/No valid host/)));
    await expectAccounted(servers);
    await destroyAll(ids);
    await Promise.all(others.map((uuid) => harness.maintenance(uuid, false)));
    await harness.free(NODES);
  });

  test("if Ironic's conductor is killed during deployments, each server is active or has no allocations, and no node is lost", async () => {
    const ids = await bootMany(6);
    await harness.cloud.eventually(
      () => Promise.all(NODES.map((node) => harness.node(node))),
      (nodes) => nodes.some(({ provision_state: state }) => state === "deploying"),
    );
    await harness.ironic.kill("conductor");
    await harness.ironic.restart();
    const servers = await settle(ids);
    await expectAccounted(servers);
    await destroyAll(ids);
    await harness.free(NODES);
  });

  test("an outage of Ironic for some passes deletes nothing, and pending requests are completed afterwards", async () => {
    const ids = await bootMany(2);
    const servers = await settle(ids);
    expect(servers.filter(isActive)).toHaveLength(2);
    const [doomed = "", retained = ""] = ids;
    await harness.ironic.kill("api");
    await harness.passed("bm1");
    expect(harness.output("bm1")).toContain("this pass is skipped");
    const deleted = harness.destroy(doomed);
    await harness.passed("bm1");
    expect(await Promise.all(NODES.map((node) => harness.reserved(node)))).not.toContain(undefined);
    expect(await hostsOf()).toHaveLength(NODES.length);
    await harness.ironic.restart();
    await deleted;
    await expectAccounted([await harness.operator.server(retained)]);
    await harness.destroy(retained);
    await harness.free(NODES);
  });

  test("a second agent joins, leaves and joins again during builds: nodes change hosts, and nothing is lost", async () => {
    const ids = await bootMany(5);
    await harness.startAgent("bm2");
    const shared = (hosts: readonly string[]) => hosts.includes("bm1") && hosts.includes("bm2");
    await harness.cloud.eventually(hostsOf, shared);
    ids.push(...(await bootMany(5)));
    const [first] = ids;
    await harness.cloud.eventually(
      () => harness.operator.server(String(first)),
      (server) => server["OS-EXT-STS:task_state"] !== ("scheduling" as unknown),
    );
    await harness.stopAgent("bm2");
    ids.push(...(await bootMany(3)));
    await harness.startAgent("bm2");
    const servers = await settle(ids);
    await expectAccounted(servers);
    expect(servers.filter(isActive).length).toBeGreaterThanOrEqual(5);
    await destroyAll(ids);
    await harness.free(NODES);
    await harness.stopAgent("bm2");
    // Once its service is down, all nodes belong to the other host.
    await harness.cloud.eventually(hostsOf, (hosts) => hosts.every((host) => host === "bm1"));
    expect(await hostsOf()).toHaveLength(NODES.length);
  });
});
