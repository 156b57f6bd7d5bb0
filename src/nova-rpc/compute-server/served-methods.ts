import type { AgentMethod, AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { readLiveMigrateData } from "../objects/compute-rpc-objects.js";
import { objectOf } from "../objects/primitive.js";
import {
  type Arguments,
  type InboundTools,
  idOf,
  PLAIN_METHODS,
  type PlainMethod,
  readParameters,
  serverGroupOf,
  textOr,
  unservable,
  unservableMove,
  uuidOf,
} from "./parameters.js";

/** A message converted to the agent's methods. */
export interface Inbound<M extends AgentMethod> {
  readonly method: M;
  readonly params: ParamsOf<AgentMethods, M>;
}

/** One message of Nova may be several calls of the agent. Null: there is nothing to do. */
type Translated = Inbound<AgentMethod> | readonly Inbound<AgentMethod>[] | null;

type Translate = (args: Arguments, tools: InboundTools) => Translated | Promise<Translated>;

/**
 * Methods that need more than the parameters read from the arguments, and methods that the agent has under another name or
 * not at all.
 */
const OTHERWISE = {
  build_and_run_instance: async (args, tools) => {
    const overrides = { unservable: unservable(args, tools) ?? undefined };
    return inbound("build_and_run_instance", await readParameters("build_and_run_instance", args, tools, overrides));
  },
  rebuild_instance: async (args, tools) => {
    const data = objectOf(args.instance, "Instance")["nova_object.data"];
    const migrationId =
      args.migration === null || args.migration === undefined ? null : idOf(args.migration, "Migration");
    const node = textOr(args.scheduled_node, textOr(data.node, tools.host));
    const recreate = args.recreate === true;
    if (recreate && migrationId !== null) {
      await tools.setDestination(migrationId, node);
    }
    const serverGroup = recreate ? serverGroupOf(args) : undefined;
    const reason = recreate ? await unservableMove(args, tools) : null;
    return inbound("rebuild_instance", {
      instanceUuid: uuidOf(args.instance),
      requestId: tools.requestId,
      migrationId,
      onSharedStorage: typeof args.on_shared_storage === "boolean" && recreate ? args.on_shared_storage : null,
      recreate,
      node,
      imageRef: textOr(args.image_ref, textOr(data.image_ref, "")),
      targetStopped: args.target_state === "stopped",
      ...(serverGroup === undefined ? {} : { serverGroup }),
      ...(reason === null ? {} : { unservable: reason }),
    });
  },

  // These messages do not contain their migration.
  pre_live_migration: ofLiveMigration("pre_live_migration"),
  post_live_migration_at_destination: ofLiveMigration("post_live_migration_at_destination"),
  live_migration_force_complete: ofLiveMigration("live_migration_force_complete"),
  rollback_live_migration_at_destination: async (args, tools) => {
    const migrationId = await tools.undoneLiveMigration(uuidOf(args.instance));
    if (migrationId === null) {
      return null;
    }
    const { guestGoes, ...data } = readLiveMigrateData(args.migrate_data);
    const overrides = { migrationId, data, ...(guestGoes === true ? { guestGoes } : {}) };
    const method = "rollback_live_migration_at_destination";
    return inbound(method, await readParameters(method, args, tools, overrides));
  },
  drop_move_claim_at_destination: async (args, tools) => {
    const instanceUuid = uuidOf(args.instance);
    const migrationId = await tools.undoneLiveMigration(instanceUuid);
    return migrationId === null ? null : inbound("migration_ended", { instanceUuid, migrationId });
  },
  live_migration_abort: async (args, tools) => {
    const { migration_id: migrationId } = args;
    if (typeof migrationId !== "number") {
      throw new NovaRpcError("MalformedObject", "live_migration_abort without migration_id");
    }
    return inbound("live_migration_abort", await readParameters("live_migration_abort", args, tools, { migrationId }));
  },

  // One message has events of several instances. Other events concern networks and volumes, which guests under Nova do not
  // have.
  external_instance_event: ({ events }) =>
    (Array.isArray(events) ? events : [])
      .map((event) => objectOf(event, "InstanceExternalEvent")["nova_object.data"])
      .filter(({ name }) => name === "power-update")
      .map(({ instance_uuid: uuid, name, tag, status }) => {
        const event = { name: String(name), tag: typeof tag === "string" ? tag : null, status: String(status) };
        return inbound("external_instance_event", { instanceUuid: String(uuid), events: [event] });
      }),

  // Casts: unless their status shows the end of the request, the API shows the share as attaching or detaching for ever.
  allow_share: noShare,
  deny_share: noShare,

  // Backups are not rotated: the requested image stays as the API has created it.
  backup_instance: notDone,

  set_host_enabled: (args, tools) => {
    tools.hostChanges();
    return inbound("set_host_enabled", { enabled: args.enabled === true });
  },
  get_host_uptime: () => inbound("get_host_uptime", {}),
  check_instance_shared_storage: (args) => {
    const { instance_uuid: uuid = "", ...token } = isObject(args.data) ? args.data : {};
    return inbound("check_instance_shared_storage", { instanceUuid: String(uuid), token });
  },
} satisfies Readonly<Record<string, Translate>>;

/** The served methods of compute RPC 6.x, with the conversion from Nova's arguments to the agent's. */
export const SERVED: Readonly<Record<string, Translate>> = {
  ...Object.fromEntries(PLAIN_METHODS.map((method) => [method, plain(method)])),
  ...OTHERWISE,
};

function plain(method: PlainMethod): Translate {
  return async (args, tools) => {
    const params = await readParameters(method, args, tools);
    // The conductor leaves this to the destination of a move; only the destination's message contains a node.
    if ("migrationId" in params && "node" in params) {
      await tools.setDestination(params.migrationId, params.node);
    }
    return inbound(method, params);
  };
}

function ofLiveMigration(
  method: "pre_live_migration" | "post_live_migration_at_destination" | "live_migration_force_complete",
): Translate {
  return async (args, tools) => {
    const migrationId = await tools.liveMigration(uuidOf(args.instance));
    return migrationId === null ? null : inbound(method, await readParameters(method, args, tools, { migrationId }));
  };
}

/** Clears the task state: otherwise the server would be unusable until an administrator resets its state. */
async function notDone(args: Arguments, { endTask }: InboundTools): Promise<null> {
  await endTask(uuidOf(args.instance));
  return null;
}

/** @throws {NotImplementedHere} always, after the request's mapping was set to failed */
async function noShare({ share_mapping: mapping }: Arguments, { failShare }: InboundTools): Promise<never> {
  await failShare(mapping);
  throw new NovaRpcError(
    "NotImplementedHere",
    "guests of this host cannot mount shares; the share mapping was set to error",
  );
}

function inbound<M extends AgentMethod>(method: M, params: ParamsOf<AgentMethods, M>): Inbound<M> {
  return { method, params };
}

/** Responses to methods that the agent does not implement. Every call has one; otherwise the API would return 500. */
export const UNSERVED: Readonly<Record<string, (args: Arguments) => unknown>> = {
  host_power_action: notImplemented,
  host_maintenance_mode: notImplemented,
  get_vnc_console: noConsole,
  get_spice_console: noConsole,
  get_serial_console: noConsole,
  get_mks_console: noConsole,
  get_rdp_console: noConsole,
  validate_console_port: notImplemented,
  cache_images: ({ image_ids: ids }) =>
    Object.fromEntries((Array.isArray(ids) ? ids : []).map((id) => [String(id), "unsupported"])),
  reserve_block_device_name: notImplemented,
  attach_interface: notImplemented,
  add_fixed_ip_to_instance: notImplemented,
  remove_fixed_ip_from_instance: notImplemented,
  quiesce_instance: notImplemented,
  prep_snapshot_based_resize_at_dest: notImplemented,
  prep_snapshot_based_resize_at_source: notImplemented,
  finish_snapshot_based_resize_at_dest: notImplemented,
  confirm_snapshot_based_resize_at_source: notImplemented,
  revert_snapshot_based_resize_at_dest: notImplemented,
  finish_revert_snapshot_based_resize_at_source: notImplemented,
  // Casts: no caller waits, and there is nothing to do.
  inject_network_info: ignored,
  reset_network: ignored,
  trigger_crash_dump: ignored,
  change_instance_metadata: ignored,
  refresh_instance_security_rules: ignored,
};

function notImplemented(): never {
  throw new NovaRpcError("NotImplementedHere", "this driver does not do that");
}

function noConsole({ console_type: type }: Arguments): never {
  const typeSuffix = typeof type === "string" && /^[a-z-]{1,20}$/.test(type) ? ` ${type}` : "";
  throw new NovaRpcError("ConsoleTypeUnavailable", `Unavailable console type${typeSuffix}.`);
}

function ignored(): null {
  return null;
}
