import { ConductorError } from "../../conductor-client/errors.js";
import type { AgentMethod, AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { readLiveMigrateData, readSourceCheck, writeLiveMigrateData } from "../objects/compute-rpc-objects.js";
import { type NovaObject, novaObject, type ObjectData, objectOf } from "../objects/primitive.js";
import { builtObject } from "../objects/record-object.js";
import type { CallTools } from "./nova-conductor.js";

/** The fields that a real nova-compute expects to be loaded in a received instance. */
const FULL_INSTANCE_ATTRS = {
  expected_attrs: [
    "metadata",
    "system_metadata",
    "flavor",
    "info_cache",
    "migration_context",
    "numa_topology",
    "pci_requests",
    "pci_devices",
    "resources",
    "security_groups",
    "tags",
  ],
};

/** The fields without which a received instance cannot be forwarded. */
const NEEDED = ["flavor", "metadata", "system_metadata", "info_cache"];

const IMAGE = "image_";

/** Fields of an image that are not among its properties. */
const IMAGE_NUMBERS = ["min_ram", "min_disk", "size"];

const IMAGE_STRINGS = ["disk_format", "container_format", "id", "name", "status", "checksum"];

/** Reads the instance from the conductor, for another host. @param deleted whether to include a deleted instance */
export async function instanceToSend(
  uuid: string,
  { nova, options }: CallTools,
  { deleted = false }: { readonly deleted?: boolean } = {},
): Promise<NovaObject> {
  const instance = await nova.ask("Instance", "get_by_uuid", [uuid], FULL_INSTANCE_ATTRS, { ...options, deleted });
  if (!isObject(instance)) {
    throw new ConductorError("InstanceNotFound", `Instance ${uuid} could not be found.`);
  }
  return objectOf(instance, "Instance");
}

/**
 * Returns the instance of the current message, with all later updates. Without a current message, or if its instance lacks
 * fields that a nova-compute needs, returns {@link instanceToSend}.
 */
async function messageInstanceToSend(
  uuid: string,
  tools: CallTools,
  options: { readonly deleted?: boolean } = {},
): Promise<NovaObject> {
  const { current } = tools.scopes;
  const known = current?.rows.latest("Instance", uuid);
  if (known === undefined || NEEDED.some((field) => known["nova_object.data"][field] === undefined)) {
    return instanceToSend(uuid, tools, options);
  }
  const unsaved = current?.unsaved.get(uuid) ?? {};
  const { "nova_object.name": name, "nova_object.version": version, "nova_object.data": data } = known;
  return novaObject(name, version, { ...withoutDevices(uuid, tools), ...data, ...unsaved }, Object.keys(unsaved));
}

/** Fields that a conductor does not load, and that are always empty on this host: their presence avoids a lazy load. */
function withoutDevices(uuid: string, { nova: { profile } }: CallTools): ObjectData {
  return {
    numa_topology: null,
    resources: null,
    pci_requests: builtObject("InstancePCIRequests", { instance_uuid: uuid, requests: [] }, profile, []),
    pci_devices: builtObject("PciDeviceList", { objects: [] }, profile, []),
  };
}

/** Returns the migration of the current message, like {@link messageInstanceToSend}. */
async function messageMigrationToSend(id: number, tools: CallTools): Promise<NovaObject> {
  const known = tools.scopes.current?.rows.latest("Migration", id);
  return known === undefined || known["nova_object.data"].uuid === undefined
    ? migrationToSend(id, tools)
    : { ...known, "nova_object.changes": [] };
}

async function migrationToSend(id: number, { nova, options }: CallTools): Promise<NovaObject> {
  const migration = await nova.ask("Migration", "get_by_id", [id], {}, options);
  if (!isObject(migration)) {
    throw new ConductorError("MigrationNotFound", `Migration ${id} could not be found.`);
  }
  return objectOf(migration, "Migration");
}

/** Returns an argument of the current message, for forwarding; null if there is none, as after a restart. */
export function getMessageArgument(name: string, { scopes }: CallTools): unknown {
  return scopes.current?.args[name] ?? null;
}

/** Returns the image of the message, or the image fields saved in the instance. */
export function imageToSend(instance: NovaObject, tools: CallTools): unknown {
  const image = getMessageArgument("image", tools);
  if (image !== null) {
    return image;
  }
  const { system_metadata: systemMetadata } = instance["nova_object.data"];
  const entries = Object.entries(isObject(systemMetadata) ? systemMetadata : {})
    .filter(([key]) => key.startsWith(IMAGE))
    .map(([key, value]) => [key.slice(IMAGE.length), value] as const);
  const own = entries.filter(([key]) => IMAGE_NUMBERS.includes(key) || IMAGE_STRINGS.includes(key));
  const properties = entries.filter(([key]) => !IMAGE_NUMBERS.includes(key) && !IMAGE_STRINGS.includes(key));
  return {
    ...Object.fromEntries(own.map(([key, value]) => [key, IMAGE_NUMBERS.includes(key) ? Number(value) : value])),
    properties: Object.fromEntries(properties),
  };
}

/** A message to another nova-compute, real or emulated. */
interface PeerMessage {
  readonly args: Readonly<Record<string, unknown>>;
  /** Whether the call takes long, so that the other host must send signs of life. */
  readonly long?: boolean;
}

type Write<M extends AgentMethod> = (params: ParamsOf<AgentMethods, M>, tools: CallTools) => Promise<PeerMessage>;

/** Messages between agents in Nova's format. The objects include all updates since they were received. */
const PEER_MESSAGES: { readonly [M in AgentMethod]?: Write<M> } = {
  resize_instance: async ({ instanceUuid, migrationId }, tools) => {
    const move = await ofMove(instanceUuid, migrationId, tools);
    const { new_flavor: newFlavor } = move.instance["nova_object.data"];
    return {
      args: {
        ...move,
        image: imageToSend(move.instance, tools),
        flavor: getMessageArgument("flavor", tools) ?? newFlavor,
        clean_shutdown: getMessageArgument("clean_shutdown", tools) ?? true,
        request_spec: getMessageArgument("request_spec", tools),
      },
    };
  },
  finish_resize: async ({ instanceUuid, migrationId, diskInfo }, tools) => {
    const move = await ofMove(instanceUuid, migrationId, tools);
    const image = imageToSend(move.instance, tools);
    return { args: { ...move, disk_info: diskInfo, image, request_spec: getMessageArgument("request_spec", tools) } };
  },
  finish_revert_resize: async ({ instanceUuid, migrationId }, tools) => ({
    args: {
      ...(await ofMove(instanceUuid, migrationId, tools)),
      request_spec: getMessageArgument("request_spec", tools),
    },
  }),
  confirm_resize: async ({ instanceUuid, migrationId }, tools) => ({
    args: await ofMove(instanceUuid, migrationId, tools),
  }),
  check_can_live_migrate_source: async ({ instanceUuid, data }, tools) => ({
    args: {
      instance: await messageInstanceToSend(instanceUuid, tools),
      dest_check_data: writeLiveMigrateData(data, null, tools.nova.profile),
    },
  }),
  pre_live_migration: async ({ instanceUuid, data }, tools) => ({
    args: {
      instance: await messageInstanceToSend(instanceUuid, tools),
      disk: null,
      migrate_data: writeLiveMigrateData(data, getMessageArgument("migrate_data", tools), tools.nova.profile),
    },
    long: true,
  }),
  post_live_migration_at_destination: async ({ instanceUuid }, tools) => ({
    args: {
      instance: await messageInstanceToSend(instanceUuid, tools),
      block_migration: getMessageArgument("block_migration", tools) ?? false,
    },
    long: true,
  }),
  // The destination also removes its preparations for a deleted instance. `guestGoes` is in our own data, since Nova lacks
  // it.
  rollback_live_migration_at_destination: async ({ instanceUuid, destroyDisks, data, guestGoes = false }, tools) => ({
    args: {
      instance: await messageInstanceToSend(instanceUuid, tools, { deleted: true }),
      destroy_disks: destroyDisks,
      migrate_data: writeLiveMigrateData(
        guestGoes ? { ...data, guestGoes } : data,
        getMessageArgument("migrate_data", tools),
        tools.nova.profile,
      ),
    },
  }),
  check_instance_shared_storage: async ({ instanceUuid, token }) => ({
    args: { data: { instance_uuid: instanceUuid, ...token } },
  }),
};

/** @throws {NotImplementedHere} agents do not send this method to each other */
export function peerMessage<M extends AgentMethod>(
  method: M,
  params: ParamsOf<AgentMethods, M>,
  tools: CallTools,
): Promise<PeerMessage> {
  const write = PEER_MESSAGES[method] as Write<M> | undefined;
  if (write === undefined) {
    throw new NovaRpcError("NotImplementedHere", `agents do not send ${method} to each other`);
  }
  return write(params, tools);
}

/** Converts another nova-compute's result to the agent's format. */
export function peerResult(method: AgentMethod, result: unknown): unknown {
  switch (method) {
    case "check_can_live_migrate_source":
      return readSourceCheck(result);
    case "pre_live_migration":
      return readLiveMigrateData(result);
    default:
      return result;
  }
}

async function ofMove(instanceUuid: string, migrationId: number, tools: CallTools) {
  const [instance, migration] = await Promise.all([
    messageInstanceToSend(instanceUuid, tools),
    messageMigrationToSend(migrationId, tools),
  ]);
  return { instance, migration };
}
