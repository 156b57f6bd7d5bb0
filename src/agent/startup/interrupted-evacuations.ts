import type { ComputeNode, Instance, Migration } from "../../conductor/records/index.js";
import { LOCAL_DISKS_ONLY } from "../block-devices.js";
import { requireHostLease } from "../host-lease.js";
import { type AgentParts, type AgentView, requestId } from "../parts.js";

/** An evacuation that this host, as its destination, had claimed and not finished when its agent died. */
export interface InterruptedEvacuation {
  readonly migration: Migration;
  /** Still the source's. */
  readonly instance: Instance;
  readonly node: ComputeNode;
}

export async function findInterruptedEvacuations(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
): Promise<readonly InterruptedEvacuation[]> {
  const nodesByName = new Map([...nodes].map((node) => [node.hypervisorHostname, node]));
  const migrations = await view.conductor.call("migrations_by_filters", {
    filters: { destCompute: view.host, migrationTypes: ["evacuation"], statuses: ["pre-migrating"] },
  });
  const found: InterruptedEvacuation[] = [];
  for (const migration of migrations) {
    const instance = await view.conductor.call("instance_get", { uuid: migration.instanceUuid });
    const node = migration.destNode === null ? undefined : nodesByName.get(migration.destNode);
    if (instance !== null && instance.host !== view.host && node !== undefined) {
      found.push({ migration, instance, node });
    }
  }
  return found;
}

/**
 * Ends it as spec 6.7 row 4 ends a failure: this host leaves the allocations, the instance stays the source's, in error,
 * and can be evacuated again. Upstream leaves it half-way. A guest that was made here goes; its disks stay, because they
 * may be the source's own on shared storage (spec V5).
 */
export async function failInterruptedEvacuation(
  parts: AgentParts,
  { migration, instance, node }: InterruptedEvacuation,
): Promise<void> {
  const { uuid } = instance;
  const request = requestId(parts);
  const fields = { instance: uuid, migration: migration.id, request_id: request };
  parts.logger.warn("an evacuation to this host was interrupted when the agent died; it is failed", fields);
  requireHostLease(parts, `undo the evacuation of instance ${uuid}`);
  await parts.driver.destroy(instance, { network: [], blockDevices: LOCAL_DISKS_ONLY, destroyDisks: false });
  const stripped = await parts.placement.removeProviderTreeFromInstanceAllocation(uuid, node.uuid, {
    retry: true,
    requestId: request,
  });
  if (!stripped) {
    parts.logger.error("this host's share could not be taken out of the instance's allocations", fields);
  }
  // Together: the record is what a next start would find this by.
  await parts.conductor.call(
    "save_together",
    {
      instance: { uuid, changes: { vmState: "error", taskState: null } },
      migration: { id: migration.id, changes: { status: "failed" } },
    },
    { requestId: request },
  );
}
