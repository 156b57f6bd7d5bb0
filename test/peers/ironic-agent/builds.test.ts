import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../process/support/cloud.js";
import { BaremetalLab, nodeUuid } from "./baremetal-harness.js";

const NODES = Array.from({ length: 20 }, (_, index) => nodeUuid(index));

let lab: BaremetalLab;

beforeAll(async () => {
  lab = await BaremetalLab.open(NODES.length, { deployDelay: 1 });
  await lab.startAgent("bm1");
  await lab.free(NODES);
  lab.watch.start();
});

afterEach(async () => {
  await lab.watch.looked();
  expect([...lab.watch.breaches]).toEqual([]);
});

afterAll(async () => {
  await lab?.dispose();
});

function bootMany(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => lab.boot(`bm-${index}`)));
}
const settle = (ids: readonly string[]): Promise<Json[]> => Promise.all(ids.map((id) => lab.settled(id)));
const destroyAll = (ids: readonly string[]) => Promise.all(ids.map((id) => lab.destroy(id)));
const isActive = ({ status }: Json): boolean => String(status) === "ACTIVE";
const nodeOf = (server: Json): string => String(server["OS-EXT-SRV-ATTR:hypervisor_hostname"]);
async function hostsOf(): Promise<string[]> {
  const { body } = await lab.cloud.compute("GET", "/os-hypervisors/detail");
  return Object.values(body.hypervisors ?? {}).map(({ service }) => String(service?.host));
}

/** An active server holds its node, and is what Ironic has on it; one in error holds nothing. */
async function expectAccounted(servers: readonly Json[]): Promise<void> {
  for (const server of servers) {
    const held = await lab.held(String(server.id));
    const node = nodeOf(server);
    if (!isActive(server)) {
      expect(held, JSON.stringify(server.fault)).toEqual({});
    } else {
      expect(Object.keys(held)).toEqual([node]);
      expect(await lab.node(node)).toMatchObject({ instance_uuid: server.id, provision_state: "active" });
    }
  }
}

describe("building on a real Ironic", () => {
  test("twenty servers at once, each on a node of its own, and deleted at once", async () => {
    const ids = await bootMany(NODES.length);
    const servers = await settle(ids);
    expect(servers.filter(isActive)).toHaveLength(NODES.length);
    expect(new Set(servers.map(nodeOf)).size).toBe(NODES.length);
    await expectAccounted(servers);
    await lab.passed("bm1");
    expect(await Promise.all(NODES.map((node) => lab.reserved(node)))).toEqual(NODES.map(() => 1));
    await destroyAll(ids);
    expect(await Promise.all(ids.map((id) => lab.held(id)))).toEqual(ids.map(() => ({})));
    await lab.free(NODES);
  });

  test("ten servers want the one node that is free: one has it, the others have and hold nothing", async () => {
    const [node = "", ...others] = NODES;
    await Promise.all(others.map((uuid) => lab.maintenance(uuid, true)));
    await lab.passed("bm1");
    const ids = await bootMany(10);
    const servers = await settle(ids);
    expect(servers.filter(isActive).map(nodeOf)).toEqual([node]);
    const faults = servers.filter((server) => !isActive(server)).map(({ fault }) => String(fault?.message));
    expect(faults).toEqual(Array.from({ length: 9 }, () => expect.stringMatching(/No valid host/)));
    await expectAccounted(servers);
    await destroyAll(ids);
    await Promise.all(others.map((uuid) => lab.maintenance(uuid, false)));
    await lab.free(NODES);
  });

  test("the conductor of Ironic is killed in mid-deploy: each server is active or holds nothing, and no node is lost", async () => {
    const ids = await bootMany(6);
    await lab.cloud.eventually(
      () => Promise.all(NODES.map((node) => lab.node(node))),
      (nodes) => nodes.some(({ provision_state: state }) => state === "deploying"),
    );
    await lab.ironic.kill("conductor");
    await lab.ironic.restart();
    const servers = await settle(ids);
    await expectAccounted(servers);
    await destroyAll(ids);
    await lab.free(NODES);
  });

  test("Ironic is away for some passes: nothing is deleted, and what was asked meanwhile is done when it is back", async () => {
    const ids = await bootMany(2);
    const servers = await settle(ids);
    expect(servers.filter(isActive)).toHaveLength(2);
    const [doomed = "", kept = ""] = ids;
    await lab.ironic.kill("api");
    await lab.passed("bm1");
    expect(lab.output("bm1")).toContain("this pass is skipped");
    const deleted = lab.destroy(doomed);
    await lab.passed("bm1");
    expect(await Promise.all(NODES.map((node) => lab.reserved(node)))).not.toContain(undefined);
    expect(await hostsOf()).toHaveLength(NODES.length);
    await lab.ironic.restart();
    await deleted;
    await expectAccounted([await lab.operator.server(kept)]);
    await lab.destroy(kept);
    await lab.free(NODES);
  });

  test("a second agent joins, leaves and joins again while servers are built: nodes change hosts, and nothing is lost", async () => {
    const ids = await bootMany(5);
    await lab.startAgent("bm2");
    const shared = (hosts: readonly string[]) => hosts.includes("bm1") && hosts.includes("bm2");
    await lab.cloud.eventually(hostsOf, shared);
    ids.push(...(await bootMany(5)));
    const [first] = ids;
    await lab.cloud.eventually(
      () => lab.operator.server(String(first)),
      (server) => server["OS-EXT-STS:task_state"] !== ("scheduling" as unknown),
    );
    await lab.stopAgent("bm2");
    ids.push(...(await bootMany(3)));
    await lab.startAgent("bm2");
    const servers = await settle(ids);
    await expectAccounted(servers);
    expect(servers.filter(isActive).length).toBeGreaterThanOrEqual(5);
    await destroyAll(ids);
    await lab.free(NODES);
    await lab.stopAgent("bm2");
    // Once its service is down, all nodes are the other's.
    await lab.cloud.eventually(hostsOf, (hosts) => hosts.every((host) => host === "bm1"));
    expect(await hostsOf()).toHaveLength(NODES.length);
  });
});
