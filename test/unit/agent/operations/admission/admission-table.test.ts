import { describe, expect, test } from "vitest";
import { admit } from "../../../../../src/agent/operations/flow/admission.js";
import type { OperationName } from "../../../../../src/agent/operations/flow/contract.js";
import { OPERATIONS } from "../../../../../src/agent/operations/table.js";
import {
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
  TASK_STATES,
  VM_STATES,
} from "../../../../../src/records/index.js";
import { aMigration, anInstance } from "../../../../fixtures/records.js";

const REQUEST = "req-ours";
const REBOOTS = "rebooting reboot_pending reboot_started rebooting_hard reboot_pending_hard reboot_started_hard";
const HERE = "here";
const LEAVING = "accepted queued preparing running running (post-copy)";

/** The conditions for each message: location of the instance, task_states, vm_states, role and statuses of the migration. */
const TABLE: Readonly<
  Record<OperationName, readonly [where: string, tasks: string, vmStates?: string, migration?: string]>
> = {
  build_and_run_instance: ["nowhere", "none scheduling", "building"],
  terminate_instance: ["here nowhere", "any"],
  evacuate_instance: ["nowhere elsewhere", "rebuilding", "any", "to here, accepted pre-migrating completed"],
  rebuild_instance: [HERE, "rebuilding"],
  prep_resize: ["here nowhere elsewhere", "resize_prep", "any", "to here, pre-migrating"],
  resize_instance: [HERE, "resize_prep", "any", "from here, pre-migrating"],
  finish_resize: [HERE, "resize_migrated", "any", "to here, post-migrating"],
  confirm_resize: ["here nowhere elsewhere", "any", "any", "from here, finished confirming error"],
  revert_resize: [HERE, "resize_reverting", "any", "to here, reverting"],
  finish_revert_resize: ["here nowhere elsewhere", "resize_reverting", "any", "from here, reverted"],
  check_can_live_migrate_destination: ["nowhere elsewhere", "migrating"],
  check_can_live_migrate_source: [HERE, "migrating"],
  pre_live_migration: ["nowhere elsewhere", "migrating", "any", "to here, preparing"],
  live_migration: [HERE, "migrating", "any", "from here, accepted"],
  post_live_migration_at_destination: ["here nowhere elsewhere", "any", "any", `to here, ${LEAVING}`],
  rollback_live_migration_at_destination: ["nowhere elsewhere", "any", "any", "to here, any"],
  live_migration_abort: ["here nowhere elsewhere", "any", "any", "from here, any"],
  live_migration_force_complete: ["here nowhere elsewhere", "any", "any", "from here, any"],
  start_instance: [HERE, "powering-on"],
  stop_instance: [HERE, "powering-off"],
  reboot_instance: [HERE, REBOOTS],
  rescue_instance: [HERE, "rescuing"],
  snapshot_instance: [HERE, "image_snapshot_pending"],
  shelve_instance: [HERE, "shelving"],
  shelve_offload_instance: [HERE, "shelving_offloading"],
  unshelve_instance: ["nowhere", "unshelving", "shelved_offloaded"],
  pause_instance: [HERE, "pausing"],
  unpause_instance: [HERE, "unpausing"],
  suspend_instance: [HERE, "suspending"],
  resume_instance: [HERE, "resuming"],
  unrescue_instance: [HERE, "unrescuing"],
  soft_delete_instance: [HERE, "soft-deleting"],
  restore_instance: [HERE, "restoring"],
  set_admin_password: [HERE, "updating_password"],
  reserve_block_device_name: [HERE, "any"],
  attach_volume: [HERE, "any"],
  detach_volume: [HERE, "any"],
  swap_volume: [HERE, "any"],
};

/** Messages that are also processed for a deleted instance. */
const FOR_DELETED: readonly OperationName[] = ["rollback_live_migration_at_destination"];

const PLACES = { here: "here", nowhere: null, elsewhere: "there" } as const;
const WAYS = {
  "to here": { sourceCompute: "there", destCompute: "here" },
  "from here": { sourceCompute: "here", destCompute: "there" },
} as const;

interface Situation {
  readonly instance: Partial<Instance>;
  readonly migration: Partial<Migration>;
}

async function isAdmitted(method: OperationName, { instance, migration }: Situation): Promise<boolean> {
  const records: Record<string, unknown> = {
    instance_get: anInstance({ uuid: "vm", taskRequestId: REQUEST, ...instance }),
    migration_get: aMigration({ instanceUuid: "vm", ...migration }),
  };
  const conductor = { call: async (name: string) => records[name] };
  const message = { instanceUuid: "vm", requestId: REQUEST, migrationId: 1 };
  const gate = { method, admission: OPERATIONS[method].admission };
  return "admitted" in (await admit({ host: "here", conductor } as never, gate, message));
}

async function those<T>(values: readonly T[], name: (value: T) => string, admits: (value: T) => Promise<boolean>) {
  const admitted: string[] = [];
  for (const value of values) {
    if (await admits(value)) {
      admitted.push(name(value));
    }
  }
  return admitted.length === values.length ? "any" : admitted.join(" ");
}

const METHODS = Object.keys(OPERATIONS) as OperationName[];

describe("what has to be so for a message to be carried out", () => {
  test.each(METHODS)("%s", async (method) => {
    const [where, tasks, vmStates = "any", migration] = TABLE[method];
    const [way, statuses] = (migration ?? "to here, any").split(", ") as [keyof typeof WAYS, string];
    const place = where.split(" ")[0] as keyof typeof PLACES;
    const task = tasks === "any" || tasks.startsWith("none") ? null : (tasks.split(" ")[0] as Instance["taskState"]);
    const vmState = vmStates === "any" ? "active" : (vmStates as Instance["vmState"]);
    const status = MIGRATION_STATUSES.find((each) => statuses.startsWith(each)) ?? "error";
    const usual: Situation = {
      instance: { host: PLACES[place], taskState: task, vmState },
      migration: { ...WAYS[way], status },
    };
    const ofInstance = (instance: Partial<Instance>) =>
      isAdmitted(method, { ...usual, instance: { ...usual.instance, ...instance } });
    const ofMigration = (changes: Partial<Migration>) =>
      isAdmitted(method, { ...usual, migration: { ...usual.migration, ...changes } });

    const places = Object.keys(PLACES) as (keyof typeof PLACES)[];
    const found = [
      (await those(places, String, (name) => ofInstance({ host: PLACES[name] }))).replace("any", places.join(" ")),
      await those(
        [null, ...TASK_STATES],
        (each) => each ?? "none",
        (taskState) => ofInstance({ taskState }),
      ),
      await those(VM_STATES, String, (each) => ofInstance({ vmState: each })),
    ];
    expect(found).toEqual([where, inOrder(tasks, TASK_STATES), vmStates]);
    if (migration) {
      const admitted = await those(MIGRATION_STATUSES, String, (each) => ofMigration({ status: each }));
      expect(admitted).toBe(inOrder(statuses, MIGRATION_STATUSES));
      const ways = await those(Object.keys(WAYS) as (keyof typeof WAYS)[], String, (each) => ofMigration(WAYS[each]));
      expect(ways).toBe(way);
      expect(await ofMigration({ instanceUuid: "other" }), "another instance's").toBe(false);
    }
    expect(await ofInstance({ deleted: 1 }), "deleted").toBe(FOR_DELETED.includes(method));
    if (tasks !== "any" && task !== null) {
      expect(await ofInstance({ taskRequestId: "req-theirs" }), "another request's").toBe(false);
    }
  });
});

/** Returns the names in the order of `all`. */
function inOrder(names: string, all: readonly string[]): string {
  const requestedNames = names.split(" ");
  const none = requestedNames.includes("none") ? ["none"] : [];
  const known = all.filter((name) => (name.includes(" ") ? names.includes(name) : requestedNames.includes(name)));
  return names === "any" ? names : [...none, ...known].join(" ");
}
