import type { AgentMethod, AgentMethods } from "../../conductor/methods/agent.js";
import type { ParamsOf } from "../../conductor/methods/method.js";
import { FLAVOR_OBJECT } from "../objects/flavor.js";
import { readLiveMigrateData } from "../objects/live-migrate-data.js";
import { isRecord, MalformedObject, objectOf } from "../objects/primitive.js";
import { readRecord } from "../objects/record-object.js";
import { readRetry, readSelections } from "../objects/selection.js";
import { unservable, unservableMove } from "./unservable.js";

export type Arguments = Readonly<Record<string, unknown>>;

class SetAdminPasswdNotSupported extends Error {
  override readonly name = "SetAdminPasswdNotSupported";
}

/** What a message may not have in it, and why it is refused before anything is done. */
export interface Inbound<M extends AgentMethod> {
  readonly method: M;
  readonly params: ParamsOf<AgentMethods, M>;
}

/** What the parameters are made of besides the arguments. */
export interface InboundTools {
  readonly host: string;
  readonly requestId: string;
  /** `[compute_agent] ignore_networks` */
  readonly ignoreNetworks: boolean;
  /** The volumes and disks of an instance: a BlockDeviceMappingList. */
  blockDevices(instanceUuid: string): Promise<unknown>;
  /** Takes from an instance the task state of what is not done. */
  endTask(instanceUuid: string): Promise<void>;
  /** Records a host and its node as the destination of a migration. */
  setDestination(migrationId: number, node: string): Promise<void>;
  /** The service is not as it was read. */
  hostChanges(): void;
  /** The last live migration of an instance, if it is not at an end; null: there is none. */
  liveMigration(instanceUuid: string): Promise<number | null>;
  /** The same, if it has not moved the instance. */
  undoneLiveMigration(instanceUuid: string): Promise<number | null>;
}

/** Null: there is nothing to be done. */
type Translate = (
  args: Arguments,
  tools: InboundTools,
) => Inbound<AgentMethod> | null | Promise<Inbound<AgentMethod> | null>;

/** Compute RPC 6.x: each method that the agent has, from Nova's arguments to ours. */
export const SERVED: Readonly<Record<string, Translate>> = {
  build_and_run_instance: (args, tools) => {
    const retry = readRetry(args.filter_properties);
    const reason = unservable(args, tools);
    return inbound("build_and_run_instance", {
      ...ofInstance(args, tools),
      // They are in Placement alone.
      allocations: null,
      node: text(args.node, tools.host),
      alternates: readSelections(args.host_list),
      // Without other hosts in the message nobody can be asked to try one.
      ...(retry === null || args.host_list === null ? {} : { retry }),
      ...(reason === null ? {} : { unservable: reason }),
    });
  },
  terminate_instance: same("terminate_instance"),
  start_instance: same("start_instance"),
  stop_instance: same("stop_instance"),
  pause_instance: same("pause_instance"),
  unpause_instance: same("unpause_instance"),
  suspend_instance: same("suspend_instance"),
  resume_instance: same("resume_instance"),
  unrescue_instance: same("unrescue_instance"),
  soft_delete_instance: same("soft_delete_instance"),
  restore_instance: same("restore_instance"),
  shelve_offload_instance: same("shelve_offload_instance"),
  reboot_instance: (args, tools) =>
    inbound("reboot_instance", { ...ofInstance(args, tools), type: args.reboot_type === "HARD" ? "HARD" : "SOFT" }),
  rescue_instance: (args, tools) =>
    inbound("rescue_instance", {
      ...ofInstance(args, tools),
      ...(typeof args.rescue_image_ref === "string" ? { rescueImageRef: args.rescue_image_ref } : {}),
    }),
  shelve_instance: (args, tools) =>
    inbound("shelve_instance", { ...ofInstance(args, tools), imageId: text(args.image_id, "") }),
  unshelve_instance: async (args, tools) =>
    inbound("unshelve_instance", {
      ...ofInstance(args, tools),
      ...(await ofComing(args, tools)),
      allocations: null,
      node: text(args.node, tools.host),
    }),
  rebuild_instance: async (args, tools) => {
    const data = objectOf(args.instance, "Instance")["nova_object.data"];
    const migrationId =
      args.migration === null || args.migration === undefined ? null : idOf(args.migration, "Migration");
    const node = text(args.scheduled_node, text(data.node, tools.host));
    const recreate = args.recreate === true;
    if (recreate && migrationId !== null) {
      await tools.setDestination(migrationId, node);
    }
    return inbound("rebuild_instance", {
      ...ofInstance(args, tools),
      migrationId,
      onSharedStorage: typeof args.on_shared_storage === "boolean" && recreate ? args.on_shared_storage : null,
      recreate,
      node,
      imageRef: text(args.image_ref, text(data.image_ref, "")),
      targetStopped: args.target_state === "stopped",
      ...(recreate ? await ofComing(args, tools) : {}),
    });
  },

  prep_resize: async (args, tools) => {
    const retry = readRetry(args.filter_properties);
    const move = ofMove(args, tools);
    const node = text(args.node, tools.host);
    const coming = await ofComing(args, tools);
    // The conductor leaves that to the destination.
    await tools.setDestination(move.migrationId, node);
    return inbound("prep_resize", {
      ...move,
      ...coming,
      flavor: readRecord(FLAVOR_OBJECT, args.flavor),
      node,
      alternates: readSelections(args.host_list),
      ...(retry === null || args.host_list === null ? {} : { retry }),
    });
  },
  resize_instance: (args, tools) => inbound("resize_instance", ofMove(args, tools)),
  finish_resize: (args, tools) =>
    inbound("finish_resize", { ...ofMove(args, tools), diskInfo: textOrJson(args.disk_info) }),
  confirm_resize: (args, tools) => inbound("confirm_resize", ofMove(args, tools)),
  revert_resize: (args, tools) => inbound("revert_resize", ofMove(args, tools)),
  finish_revert_resize: (args, tools) => inbound("finish_revert_resize", ofMove(args, tools)),

  check_can_live_migrate_destination: async (args, tools) =>
    inbound("check_can_live_migrate_destination", {
      ...ofMove(args, tools),
      ...(await ofComing(args, tools)),
      blockMigration: flagOrNull(args.block_migration),
      diskOverCommit: args.disk_over_commit === true,
    }),
  check_can_live_migrate_source: (args, tools) =>
    inbound("check_can_live_migrate_source", {
      ...ofInstance(args, tools),
      data: readLiveMigrateData(args.dest_check_data),
    }),
  live_migration: (args, tools) =>
    inbound("live_migration", {
      ...ofMove(args, tools),
      dest: text(args.dest, ""),
      blockMigration: flagOrNull(args.block_migration),
      data: readLiveMigrateData(args.migrate_data),
    }),
  // These four do not say which migration they are of.
  pre_live_migration: ofLiveMigration((params, args) =>
    inbound("pre_live_migration", {
      ...params,
      blockMigration: null,
      data: readLiveMigrateData(args.migrate_data),
    }),
  ),
  post_live_migration_at_destination: ofLiveMigration((params) =>
    inbound("post_live_migration_at_destination", params),
  ),
  rollback_live_migration_at_destination: ofLiveMigration((params, args) => {
    const { guestGoes, ...data } = readLiveMigrateData(args.migrate_data);
    const destroyDisks = args.destroy_disks !== false;
    const more = guestGoes === true ? { guestGoes } : {};
    return inbound("rollback_live_migration_at_destination", { ...params, destroyDisks, data, ...more });
  }, "undoneLiveMigration"),
  live_migration_force_complete: ofLiveMigration((params) => inbound("live_migration_force_complete", params)),
  drop_move_claim_at_destination: ofLiveMigration(
    ({ instanceUuid, migrationId }) => inbound("migration_ended", { instanceUuid, migrationId }),
    "undoneLiveMigration",
  ),
  live_migration_abort: (args, tools) => {
    if (typeof args.migration_id !== "number") {
      throw new MalformedObject("live_migration_abort names no migration");
    }
    return inbound("live_migration_abort", { ...ofInstance(args, tools), migrationId: args.migration_id });
  },

  snapshot_instance: (args, tools) =>
    inbound("snapshot_instance", { ...ofInstance(args, tools), imageId: text(args.image_id, "") }),
  // Backups are not rotated: the image of the request stays as the API has made it.
  backup_instance: notDone,
  set_admin_password: async (args, tools) => {
    await notDone(args, tools);
    throw new SetAdminPasswdNotSupported("Set admin password is not supported by this driver.");
  },

  set_host_enabled: (args, tools) => {
    tools.hostChanges();
    return inbound("set_host_enabled", { enabled: args.enabled === true });
  },
  check_instance_shared_storage: (args) => {
    const { instance_uuid: uuid = "", ...token } = isRecord(args.data) ? args.data : {};
    return inbound("check_instance_shared_storage", { instanceUuid: String(uuid), token });
  },
};

/** Without it the server could not be used until somebody reset its state. */
async function notDone(args: Arguments, { endTask }: InboundTools): Promise<null> {
  await endTask(uuidOf(args.instance));
  return null;
}

function inbound<M extends AgentMethod>(method: M, params: ParamsOf<AgentMethods, M>): Inbound<M> {
  return { method, params };
}

type OfInstance = "terminate_instance" | "start_instance" | "stop_instance" | "pause_instance" | "unpause_instance";
type MoreOfInstance = "suspend_instance" | "resume_instance" | "unrescue_instance" | "soft_delete_instance";
type OnlyInstance = OfInstance | MoreOfInstance | "restore_instance" | "shelve_offload_instance";

/** A method that needs nothing but the instance. */
function same(method: OnlyInstance): Translate {
  return (args, tools) => inbound(method, ofInstance(args, tools));
}

function ofInstance(args: Arguments, { requestId }: InboundTools) {
  return { instanceUuid: uuidOf(args.instance), requestId };
}

async function ofComing(args: Arguments, tools: InboundTools): Promise<{ readonly unservable?: string }> {
  const reason = await unservableMove(args, tools);
  return reason === null ? {} : { unservable: reason };
}

function ofMove(args: Arguments, tools: InboundTools) {
  return { ...ofInstance(args, tools), migrationId: idOf(args.migration, "Migration") };
}

function ofLiveMigration(
  translate: (params: ReturnType<typeof ofMove>, args: Arguments) => Inbound<AgentMethod>,
  which: "liveMigration" | "undoneLiveMigration" = "liveMigration",
): Translate {
  return async (args, tools) => {
    const params = ofInstance(args, tools);
    const migrationId = await tools[which](params.instanceUuid);
    return migrationId === null ? null : translate({ ...params, migrationId }, args);
  };
}

function uuidOf(instance: unknown): string {
  const { uuid } = objectOf(instance, "Instance")["nova_object.data"];
  if (typeof uuid !== "string") {
    throw new MalformedObject("an instance without a uuid");
  }
  return uuid;
}

function idOf(object: unknown, name: string): number {
  const { id } = objectOf(object, name)["nova_object.data"];
  if (typeof id !== "number") {
    throw new MalformedObject(`a ${name} without an id`);
  }
  return id;
}

function text(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

function textOrJson(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

function flagOrNull(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}
