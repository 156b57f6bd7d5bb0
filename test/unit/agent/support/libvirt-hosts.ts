import { driver } from "../../../../drivers/fake-libvirt/index.js";
import type { ComputeNode } from "../../../../src/records/index.js";
import type { ConfigChanges } from "../../../fixtures/world/nova-config.js";
import type { Harness, HostOptions } from "./harness.js";
import { AMOUNTS, addInstance } from "./records.js";

/** Returns the options of an agent with fake-libvirt and the real operations. */
export function libvirt(host: string, options: HostOptions & { readonly on?: string } = {}): HostOptions {
  const { on = host, config = {}, ...rest } = options;
  const sections: ConfigChanges["sections"] = {
    ...config.sections,
    fake_libvirt: { connection_uri: `fake-libvirt:///hypervisors/${on}`, ...config.sections?.fake_libvirt },
  };
  return { driver, operations: "real", ...rest, config: { ...config, sections } };
}

/** Returns the uuids of the guests in a hypervisor's folder. */
export async function guestsOf(harness: Harness, hypervisor: string): Promise<readonly string[]> {
  return (await harness.list(`/hypervisors/${hypervisor}/domains`)).map((file) => file.replace(/\.xml$/, ""));
}

/**
 * Builds a server as scheduler and conductor do: claims, schedules, sends it to the agent; then waits until it is
 * active.
 */
export async function boot(harness: Harness, uuid: string, node: ComputeNode): Promise<void> {
  const { host, hypervisorHostname } = node;
  addInstance(harness.store, uuid, { vmState: "building", taskState: "scheduling", powerState: 0 });
  await harness.allocate(uuid, node);
  const request = {
    instanceUuid: uuid,
    allocations: { [node.uuid]: { resources: AMOUNTS } },
    node: hypervisorHostname,
    alternates: [],
    requestId: "req-boot",
  };
  harness.controlPlane.conductor.bus.cast(host, "build_and_run_instance", request, "req-boot");
  await harness.world.runUntil(() => harness.instance(uuid).vmState === "active");
}

/** Runs spec 6.7 rows 1 and 2a, then waits until the destination has finished. */
export async function evacuate(harness: Harness, uuid: string, from: ComputeNode, to: ComputeNode): Promise<number> {
  harness.store.instances.save(uuid, { taskState: "rebuilding" });
  const migration = harness.store.migrations.create({
    instanceUuid: uuid,
    migrationType: "evacuation",
    status: "accepted",
    changes: { sourceCompute: from.host, sourceNode: from.hypervisorHostname, destCompute: to.host },
  });
  await harness.allocate(uuid, from, to);
  const request = {
    instanceUuid: uuid,
    migrationId: migration.id,
    onSharedStorage: null,
    recreate: true,
    node: to.hypervisorHostname,
    imageRef: harness.instance(uuid).imageRef,
    targetStopped: false,
    requestId: "req-evacuate",
  };
  harness.controlPlane.conductor.bus.cast(to.host, "rebuild_instance", request, "req-evacuate");
  await harness.world.runUntil(() => harness.store.migrations.get(migration.id)?.status === "done");
  return migration.id;
}

export function nodeOf(harness: Harness, host: string): ComputeNode {
  const [node] = harness.store.computeNodes.byHost(host);
  if (!node) {
    throw new Error(`${host} has no compute node`);
  }
  return node;
}
