import { beforeEach, describe, expect, test } from "vitest";
import { ServiceDeleteRefused } from "../../../../src/cluster/compute/api/deps.js";
import { createServiceDelete, type ServiceDeletePolicy } from "../../../../src/cluster/conductor/service-delete.js";
import type { MigrationStatus, MigrationType } from "../../../../src/conductor/records/index.js";
import { inventoryOf } from "../../placement/bench.js";
import { ConductorBench, NEED } from "./tasks/bench.js";

let bench: ConductorBench;
let s: string;
let d: string;

beforeEach(async () => {
  bench = await ConductorBench.open();
  s = await bench.host("devstack1");
  d = await bench.host("devstack2");
});

const remove = (policy: ServiceDeletePolicy, force = false): Promise<void> => {
  const { store, placement, placementBench } = bench;
  const service = store.services.getByHost("devstack1", "nova-compute");
  if (!service) throw new Error("no service");
  const run = createServiceDelete({ store, placement, policy, logger: placementBench.runtime.logger });
  return run(service, { force, requestId: "req-delete" });
};

const allocate = async (consumer: string, ...providers: readonly string[]): Promise<void> => {
  await bench.placementBench.ask("PUT", `/allocations/${consumer}`, "1.28", {
    allocations: Object.fromEntries(providers.map((uuid) => [uuid, { resources: NEED }])),
    project_id: "p",
    user_id: "u",
    consumer_generation: null,
  });
};

const held = async (consumer: string): Promise<readonly string[]> => {
  const answer = (await bench.placementBench.ask("GET", `/allocations/${consumer}`)) as { allocations: object };
  return Object.keys(answer.allocations).sort();
};

const providers = async (): Promise<readonly string[]> => {
  const answer = (await bench.placementBench.ask("GET", "/resource_providers")) as {
    resource_providers: readonly { name: string }[];
  };
  return answer.resource_providers.map(({ name }) => name).sort();
};

const gone = () => bench.store.services.getByHost("devstack1", "nova-compute") === null;
const uuid = () => bench.placementBench.runtime.random.uuid();

/** An instance on devstack2 whose move away from devstack1 has come to this status. */
async function moved(migrationType: MigrationType, status: MigrationStatus): Promise<{ i: string; m: string }> {
  const { uuid: i } = await bench.server("devstack2");
  const { uuid: m } = bench.store.migrations.create({
    instanceUuid: i,
    migrationType,
    status,
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
  });
  return { i, m };
}

/** Both hosts' allocations, as an evacuation leaves them. */
async function doubled(instance: string): Promise<void> {
  const current = (await bench.placementBench.ask("GET", `/allocations/${instance}`, "1.28")) as {
    allocations: Record<string, { resources: object }>;
    consumer_generation: number;
  };
  await bench.placementBench.ask("PUT", `/allocations/${instance}`, "1.28", {
    allocations: { ...current.allocations, [s]: { resources: NEED } },
    project_id: "p",
    user_id: "u",
    consumer_generation: current.consumer_generation,
  });
}

const residues: Readonly<Record<string, () => Promise<{ readonly consumer: string; readonly left: () => string[] }>>> =
  {
    "a leaked migration": async () => {
      const { m } = await moved("migration", "error");
      await allocate(m, s);
      return { consumer: m, left: () => [] };
    },
    "an instance of a failed evacuation": async () => {
      const { i } = await moved("evacuation", "failed");
      await doubled(i);
      return { consumer: i, left: () => [d] };
    },
    "a foreign consumer": async () => {
      const consumer = uuid();
      await allocate(consumer, s, d);
      return { consumer, left: () => [d] };
    },
  };

describe("7.2 residues that upstream leaves an orphaned provider behind for", () => {
  describe.each(Object.keys(residues))("%s", (name) => {
    const prepare = () => residues[name]?.() ?? Promise.reject(new Error(name));

    test("strict: refused with provider and consumers, nothing changed", async () => {
      const { consumer } = await prepare();
      const before = await held(consumer);
      const error = await remove("strict").catch((thrown: Error) => thrown);
      expect(error).toBeInstanceOf(ServiceDeleteRefused);
      expect(String(error)).toContain(JSON.stringify({ provider_uuid: s, consumers: [consumer] }));
      expect([gone(), await held(consumer), await providers()]).toEqual([false, before, ["devstack1", "devstack2"]]);
    });

    test.each([
      ["strict", true],
      ["cascade", false],
    ] as const)("%s, force=%s: this tree's part is removed", async (policy, force) => {
      const { consumer, left } = await prepare();
      await remove(policy, force);
      expect([gone(), await held(consumer), await providers()]).toEqual([true, left(), ["devstack2"]]);
    });

    test("upstream: the service goes, the provider stays; force changes nothing", async () => {
      const { consumer } = await prepare();
      const before = await held(consumer);
      await remove("upstream", true);
      expect([gone(), await held(consumer), await providers()]).toEqual([true, before, ["devstack1", "devstack2"]]);
    });
  });
});

describe("7.2 what every policy does alike", () => {
  const policies = ["strict", "upstream", "cascade"] as const;

  test.each(policies)("%s: a done evacuation is cleaned, its record stays done", async (policy) => {
    const { i } = await moved("evacuation", "done");
    await doubled(i);
    await remove(policy);
    expect([gone(), await held(i), await providers()]).toEqual([true, [d], ["devstack2"]]);
    expect(bench.store.migrations.byFilters({ instanceUuid: i }).map(({ status }) => status)).toEqual(["done"]);
  });

  test.each(policies)("%s: an instance on the host refuses, even with force", async (policy) => {
    await bench.server("devstack1", "error");
    await expect(remove(policy, true)).rejects.toThrow("hosting instances");
    expect([gone(), await providers()]).toEqual([false, ["devstack1", "devstack2"]]);
  });

  test.each(
    policies.flatMap((policy) => (["accepted", "pre-migrating"] as const).map((status) => [policy, status] as const)),
  )("%s: an evacuation %s refuses, even with force", async (policy, status) => {
    await moved("evacuation", status);
    await expect(remove(policy, true)).rejects.toThrow("in-progress migrations");
    expect(gone()).toBe(false);
  });

  test.each(policies)("%s: children go before their parent", async (policy) => {
    const tree = await bench.placement.getProviderTreeAndEnsureRoot(s, "devstack1");
    const child = uuid();
    tree.newChild("devstack1_gpu", s, child);
    tree.updateInventory(child, { VGPU: inventoryOf(4) });
    await bench.placement.updateFromProviderTree(tree);
    await remove(policy);
    expect(await providers()).toEqual(["devstack2"]);
  });

  test.each(policies)("%s: no compute node is fine", async (policy) => {
    for (const { id, host } of bench.store.computeNodes.byHost("devstack1")) bench.store.computeNodes.destroy(id, host);
    await remove(policy);
    expect(gone()).toBe(true);
  });
});

describe("7.2 a move that waits for its confirmation", () => {
  test.each([
    ["strict", false, false],
    ["strict", true, true],
    ["cascade", false, true],
    ["upstream", true, false],
  ] as const)("%s, force=%s: deleted: %s", async (policy, force, deleted) => {
    const { i, m } = await moved("migration", "finished");
    await allocate(m, s);
    const outcome = await remove(policy, force).catch((error: Error) => error.message);
    expect(gone()).toBe(deleted);
    expect(await held(m)).toEqual(deleted ? [] : [s]);
    expect(await held(i)).toEqual([d]);
    if (!deleted) expect(outcome).toContain("in-progress migrations");
  });

  test("towards the host is never taken away from under it", async () => {
    const { uuid: i } = await bench.server("devstack2");
    bench.store.migrations.create({
      instanceUuid: i,
      migrationType: "migration",
      status: "migrating",
      changes: { sourceCompute: "devstack2", sourceNode: "devstack2", destCompute: "devstack1" },
    });
    const [node] = bench.store.computeNodes.byHost("devstack1");
    for (const { id } of bench.store.migrations.byFilters({ instanceUuid: i })) {
      bench.store.migrations.save(id, { destNode: "devstack1", destComputeId: node?.id ?? 0 });
    }
    await expect(remove("cascade", true)).rejects.toThrow("in-progress migrations");
  });
});

describe("7.2 Placement down", () => {
  test.each(["strict", "cascade"] as const)("%s: refused, nothing changed", async (policy) => {
    bench.placementBench.inject({ on: "*", does: "refuse", times: 100 });
    await expect(remove(policy)).rejects.toBeInstanceOf(ServiceDeleteRefused);
    bench.placementBench.heal();
    expect([gone(), await providers()]).toEqual([false, ["devstack1", "devstack2"]]);
  });

  test("upstream: logged, the service goes and the provider is orphaned", async () => {
    bench.placementBench.inject({ on: "*", does: "refuse", times: 100 });
    await remove("upstream");
    bench.placementBench.heal();
    expect([gone(), await providers()]).toEqual([true, ["devstack1", "devstack2"]]);
  });
});

test("7.1 an instance that comes between the look and the end is not orphaned", async () => {
  let build = true;
  bench.placementBench.inject({
    on: "DELETE /resource_providers",
    does: () => {
      const [node] = bench.store.computeNodes.byHost("devstack1");
      if (build && node) {
        bench.store.instances.save(server, { host: node.host, node: node.hypervisorHostname, computeId: node.id });
      }
      build = false;
    },
  });
  const server = (await bench.server("devstack2")).uuid;
  await expect(remove("strict")).rejects.toThrow("hosting instances");
  expect(gone()).toBe(false);
});

test("strict: something claimed between the dry check and the deletion is a refusal too", async () => {
  const consumer = uuid();
  bench.placementBench.inject({ on: "DELETE /resource_providers", does: () => allocate(consumer, s) });
  await expect(remove("strict")).rejects.toThrow(JSON.stringify({ provider_uuid: s, consumers: [consumer] }));
  expect(gone()).toBe(false);
});

test("7.1 step 8: nodes and host mapping go with the service", async () => {
  expect(bench.store.mappings.host("devstack1")).toBe(true);
  await remove("strict");
  expect(bench.store.computeNodes.byHost("devstack1")).toEqual([]);
  expect(bench.store.mappings.host("devstack1")).toBe(false);
});
