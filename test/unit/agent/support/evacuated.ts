import type { ComputeNode, Migration, MigrationStatus } from "../../../../src/records/index.js";
import type { Harness } from "./harness.js";
import { Hypervisor } from "./hypervisor.js";
import { addInstance, addMigration, placed, uuidOf } from "./records.js";

export const VM = uuidOf(1);

export interface Evacuated {
  readonly s: ComputeNode;
  readonly d: ComputeNode;
  readonly migration: Migration;
}

export interface EvacuatedOptions {
  /** The host in the instance's row. Default: `devstack2` for `done`, else `devstack1`. */
  readonly recordedOn?: "devstack1" | "devstack2";
  readonly dest?: "devstack2" | null;
  /** The hosts on which the instance has allocations. Default: both. */
  readonly holds?: readonly ("devstack1" | "devstack2")[];
  readonly guestLeft?: boolean;
  readonly sharedStorage?: boolean;
  readonly sourceNode?: string;
}

/** Creates vm1, which ran on devstack1 until that went down; its evacuation to devstack2 has the status `status`. */
export async function evacuated(
  harness: Harness,
  status: MigrationStatus,
  options: EvacuatedOptions = {},
): Promise<Evacuated> {
  if (options.sharedStorage) {
    harness.attach("devstack2", new Hypervisor("devstack2", harness.hypervisor("devstack1")));
  }
  const { node: s } = await harness.seed("devstack1");
  const { node: d } = await harness.seed("devstack2");
  const { recordedOn = status === "done" ? "devstack2" : "devstack1", dest = "devstack2" } = options;
  const { holds = ["devstack1", "devstack2"], guestLeft = true } = options;
  const here = recordedOn === "devstack1";
  addInstance(harness.store, VM, { ...placed(here ? s : d), taskState: here ? "rebuilding" : null });
  if (guestLeft) {
    harness.hypervisor("devstack1").addGuest(VM);
  }
  if (!here) {
    harness.hypervisor("devstack2").addGuest(VM);
  }
  await harness.allocate(VM, ...[s, d].filter(({ host }) => holds.some((held) => held === host)));
  const migration = addMigration(harness.store, VM, "evacuation", status, {
    sourceCompute: "devstack1",
    sourceNode: options.sourceNode ?? "devstack1",
    destCompute: dest,
    destNode: dest,
    ...(dest === null ? {} : { destComputeId: d.id }),
  });
  return { s, d, migration };
}

export function statusOf(harness: Harness, { migration }: Evacuated): MigrationStatus | undefined {
  return harness.store.migrations.get(migration.id)?.status;
}
