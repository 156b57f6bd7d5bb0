import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { driver as definition } from "../../../drivers/ironic/index.js";
import { quietLogger } from "../../../src/cli/ui/logging.js";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { contextOf, instanceOf } from "../../unit/virt/fixtures.js";
import { enrolled, post, put, remove } from "../ironic/contract/client.js";
import { BaremetalHarness, nodeUuid } from "./baremetal-harness.js";

const HOST = "bm1";
const NODES = Array.from({ length: 8 }, (_, index) => nodeUuid(index));

let harness: BaremetalHarness;

beforeAll(async () => {
  harness = await BaremetalHarness.open(NODES.length, { deployDelay: 2, cleanDelay: 2 });
  await harness.startAgent(HOST);
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

/** Returns the provision state and the reserved units of nodes, once the agent has seen them. */
async function observeNodes(nodes: Readonly<Record<string, string>>) {
  await harness.passed(HOST);
  const rows = Object.entries(nodes).map(async ([name, uuid]) => {
    const { provision_state: state } = await harness.node(uuid);
    return [name, `${state} ${await harness.reserved(uuid)}`] as const;
  });
  return Object.fromEntries(await Promise.all(rows));
}

async function manageable(uuid: string): Promise<void> {
  await harness.provision(uuid, "manage");
  await harness.nodeIs(uuid, { provision_state: "manageable", reservation: null });
}

describe("nodes of the real Ironic in Placement", () => {
  test("fact sheet 2: only an available node without maintenance and with a known power state is schedulable", async () => {
    const id = await harness.boot("states");
    const server = await harness.settled(id);
    expect(String(server.status)).toBe("ACTIVE");
    const used = String(server["OS-EXT-SRV-ATTR:hypervisor_hostname"]);
    const [available, maintained, deployed, deploying, cleaning] = NODES.filter((uuid) => uuid !== used) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const { uuid: enroll } = await enrolled(harness.ironic);
    const { uuid: managed } = await enrolled(harness.ironic);
    const { uuid: powerless } = await enrolled(harness.ironic);
    await harness.maintenance(maintained, true);
    await harness.provision(deployed, "active");
    await Promise.all([managed, powerless, cleaning].map(manageable));
    await harness.provision(powerless, "provide");
    await harness.nodeIs(powerless, { provision_state: "available", power_state: null });
    await harness.nodeIs(deployed, { provision_state: "active", reservation: null });
    expect(await observeNodes({ enroll, managed, powerless, available, maintained, deployed, used })).toEqual({
      enroll: "enroll 1",
      managed: "manageable 1",
      powerless: "available 1",
      available: "available 0",
      maintained: "available 1",
      deployed: "active 1",
      used: "active 1",
    });

    await harness.provision(deploying, "active");
    await harness.provision(cleaning, "provide");
    await harness.provision(deployed, "deleted");
    // The conductor never finishes its task, so the state remains for the test.
    await harness.nodeIs(cleaning, { provision_state: "cleaning" });
    await harness.ironic.kill("conductor");
    expect(await observeNodes({ deploying, cleaning, deployed, used })).toEqual({
      deploying: "deploying 1",
      cleaning: "cleaning 1",
      deployed: "deleting 1",
      used: "active 1",
    });

    await harness.ironic.restart();
    await harness.nodeIs(deploying, { provision_state: "deploy failed", reservation: null });
    await harness.nodeIs(cleaning, { provision_state: "clean failed", reservation: null });
    await harness.nodeIs(deployed, { provision_state: "error", reservation: null });
    expect(await observeNodes({ deploying, cleaning, deployed, used, available })).toEqual({
      deploying: "deploy failed 1",
      cleaning: "clean failed 1",
      deployed: "error 1",
      used: "active 1",
      available: "available 0",
    });

    await harness.maintenance(maintained, false);
    await put(harness.ironic, `/v1/nodes/${powerless}/states/power`, { target: "power off" });
    await harness.destroy(id);
    await harness.free([maintained, powerless, used]);
  });

  test("V9, V10: a deleted node loses its row and provider, and has the same ones again after enrolment", async () => {
    const { uuid } = await enrolled(harness.ironic);
    await harness.cloud.eventually(
      () => harness.reserved(uuid),
      (reserved) => reserved === 1,
    );
    harness.watch.released(uuid);
    expect((await remove(harness.ironic, `/v1/nodes/${uuid}`)).status).toBe(204);
    await harness.cloud.eventually(
      () => harness.reserved(uuid),
      (reserved) => reserved === undefined,
    );
    const node = { uuid, driver: "fake-hardware", resource_class: "baremetal" };
    expect((await post(harness.ironic, "/v1/nodes", node)).status).toBe(201);
    harness.watch.expected(uuid);
    await harness.cloud.eventually(
      () => harness.reserved(uuid),
      (reserved) => reserved === 1,
    );
    const { body } = await harness.cloud.compute("GET", `/os-hypervisors?hypervisor_hostname_pattern=${uuid}`);
    expect(body.hypervisors?.[0]).toMatchObject({ id: uuid, hypervisor_hostname: uuid });
  });

  test("of ten concurrent claims of one node one succeeds, and the others are told to try another host", async () => {
    const { uuid } = await enrolled(harness.ironic);
    await manageable(uuid);
    await harness.provision(uuid, "provide");
    await harness.nodeIs(uuid, { provision_state: "available", reservation: null });
    await put(harness.ironic, `/v1/nodes/${uuid}/states/power`, { target: "power off" });
    await harness.nodeIs(uuid, { power_state: "power off", reservation: null });
    const runtime = createNodeRuntime({ logger: quietLogger });
    const claimants = Array.from({ length: 10 }, () => instanceOf({ uuid: randomUUID(), node: uuid }));
    const claims = await Promise.allSettled(
      claimants.map(async (instance) => {
        const config = { endpoint_override: harness.ironic.root };
        const driver = await createDriverHost(definition, { ...contextOf(runtime), config });
        await driver.prepareForSpawn(instance);
        return instance.uuid;
      }),
    );
    await runtime.http.close();
    const winners = claims.flatMap((claim) => (claim.status === "fulfilled" ? [claim.value] : []));
    expect(winners).toEqual([(await harness.node(uuid)).instance_uuid]);
    const losses = claims.flatMap((claim) => (claim.status === "rejected" ? [(claim.reason as Error).name] : []));
    expect(losses).toEqual(Array.from({ length: 9 }, () => "ComputeResourcesUnavailable"));
  });
});
