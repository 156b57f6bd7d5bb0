import {
  AGENT_METHODS,
  type AgentMethod,
  type AgentMethods,
  type InstanceParams,
} from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import { MAX_INTEGER } from "../../records/field.js";
import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { readLiveMigrateData } from "../objects/compute-rpc-objects.js";
import { FLAVOR_OBJECT } from "../objects/instance.js";
import { listedObjects, objectOf } from "../objects/primitive.js";
import { readRecord } from "../objects/record-object.js";
import { readRetry, readSelections } from "../objects/selection.js";

type CheckedArguments = Readonly<Record<string, unknown>>;

interface MoveTools {
  readonly ignoreNetworks: boolean;
  /** Reads the BlockDeviceMappingList of an instance, for messages without one. */
  blockDevices(instanceUuid: string): Promise<unknown>;
}

/** The arguments of one of Nova's messages. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Inputs of the parameters besides the message's arguments. */
export interface InboundTools {
  readonly host: string;
  readonly requestId: string;
  /** `[compute_agent] ignore_networks` */
  readonly ignoreNetworks: boolean;
  /** Reads the volumes and disks of an instance: a BlockDeviceMappingList. */
  blockDevices(instanceUuid: string): Promise<unknown>;
  /** Clears the task state of an instance for an operation that is not performed. */
  endTask(instanceUuid: string): Promise<void>;
  /** Records a host and its node as the destination of a migration. */
  setDestination(migrationId: number, node: string): Promise<void>;
  /** Invalidates what is known of the host's service. */
  hostChanges(): void;
  /** Returns the last live migration of an instance if it has not ended; otherwise null. */
  liveMigration(instanceUuid: string): Promise<number | null>;
  /** Returns the last live migration of an instance if it has not moved the instance; otherwise null. */
  undoneLiveMigration(instanceUuid: string): Promise<number | null>;
  /** Records a share mapping (a ShareMapping of Nova) as failed. */
  failShare(mapping: unknown): Promise<void>;
}

/** Methods about an instance, except rebuild, whose parameters depend on one another. */
export type PlainMethod = Exclude<
  { [M in AgentMethod]: ParamsOf<AgentMethods, M> extends InstanceParams ? M : never }[AgentMethod],
  "rebuild_instance"
>;

export const PLAIN_METHODS = Object.keys(AGENT_METHODS).filter(isPlain);

function isPlain(method: string): method is PlainMethod {
  const { params }: { readonly params: object } = AGENT_METHODS[method as AgentMethod];
  return "instanceUuid" in params && "requestId" in params && method !== "rebuild_instance";
}

type ParameterOf<M> = M extends PlainMethod ? keyof ParamsOf<AgentMethods, M> : never;

type Parameter = ParameterOf<PlainMethod>;

type ValueOf<P, M = PlainMethod> = M extends PlainMethod
  ? P extends keyof ParamsOf<AgentMethods, M>
    ? ParamsOf<AgentMethods, M>[P]
    : never
  : never;

/** Returns undefined if the parameter is to be omitted. */
type Reader<T> = (args: Arguments, tools: InboundTools) => T | undefined | Promise<T | undefined>;

/** Readers of each parameter from Nova's arguments, for all methods. */
const READERS: { readonly [P in Parameter]: Reader<ValueOf<P>> } = {
  instanceUuid: (args) => uuidOf(args.instance),
  requestId: (_args, { requestId }) => requestId,
  migrationId: (args) => idOf(args.migration, "Migration"),
  node: (args, { host }) => textOr(args.node, host),
  // Nova has the allocations in Placement only.
  allocations: () => null,
  alternates: (args) => readSelections(args.host_list),
  // Without other hosts in the message, a reschedule is impossible.
  retry: (args) => (args.host_list === null ? undefined : (readRetry(args.filter_properties) ?? undefined)),
  unservable: async (args, tools) => (await unservableMove(args, tools)) ?? undefined,
  serverGroup: (args) => serverGroupOf(args),
  flavor: (args) => readRecord(FLAVOR_OBJECT, args.flavor),
  type: (args) => (args.reboot_type === "HARD" ? "HARD" : "SOFT"),
  imageId: (args) => named(args, "image_id"),
  rescueImageRef: (args) => (typeof args.rescue_image_ref === "string" ? args.rescue_image_ref : undefined),
  newPass: (args) => textOr(args.new_pass, ""),
  tailLength: ({ tail_length: length }) => lineCount(length),
  diskInfo: (args) => (typeof args.disk_info === "string" ? args.disk_info : JSON.stringify(args.disk_info ?? {})),
  dest: (args) => named(args, "dest"),
  blockMigration: (args) => flagOrNull(args.block_migration),
  diskOverCommit: (args) => args.disk_over_commit === true,
  data: (args) => readLiveMigrateData(args.migrate_data ?? args.dest_check_data),
  destroyDisks: (args) => args.destroy_disks !== false,
  guestGoes: () => undefined,
  blockDeviceUuid: (args) => blockDeviceOf(args.bdm),
  newVolumeId: (args) => named(args, "new_volume_id"),
  newAttachmentId: (args) => named(args, "new_attachment_id"),
};

/** undefined: the parameter is omitted. */
type ParameterOverrides<M extends PlainMethod> = {
  readonly [P in keyof ParamsOf<AgentMethods, M>]?: ParamsOf<AgentMethods, M>[P] | undefined;
};

/** @param overrides parameters that this method's arguments contain in another form */
export async function readParameters<M extends PlainMethod>(
  method: M,
  args: Arguments,
  tools: InboundTools,
  overrides: ParameterOverrides<M> = {},
): Promise<ParamsOf<AgentMethods, M>> {
  const entries: [string, unknown][] = [];
  for (const name of Object.keys(AGENT_METHODS[method].params) as Parameter[]) {
    const value = name in overrides ? overrides[name as keyof ParameterOverrides<M>] : await READERS[name](args, tools);
    if (value !== undefined) {
      entries.push([name, value]);
    }
  }
  return Object.fromEntries(entries) as ParamsOf<AgentMethods, M>;
}

export function uuidOf(instance: unknown): string {
  const { uuid } = objectOf(instance, "Instance")["nova_object.data"];
  if (typeof uuid !== "string") {
    throw new NovaRpcError("MalformedObject", "an instance without a uuid");
  }
  return uuid;
}

function blockDeviceOf(device: unknown): string {
  const { uuid } = objectOf(device, "BlockDeviceMapping")["nova_object.data"];
  if (typeof uuid !== "string") {
    throw new NovaRpcError("MalformedObject", "a block device without a uuid");
  }
  return uuid;
}

export function idOf(object: unknown, name: string): number {
  const { id } = objectOf(object, name)["nova_object.data"];
  if (typeof id !== "number") {
    throw new NovaRpcError("MalformedObject", `a ${name} without an id`);
  }
  return id;
}

/**
 * Returns the server group that the conductor scheduled by; undefined if there is none, or the message does not contain it.
 */
export function serverGroupOf({ request_spec: spec }: Arguments): string | undefined {
  const { instance_group: group } = isObject(spec) ? objectOf(spec)["nova_object.data"] : {};
  const { uuid } = isObject(group) ? objectOf(group, "InstanceGroup")["nova_object.data"] : {};
  return typeof uuid === "string" ? uuid : undefined;
}

/** Returns a mandatory name. @throws {MalformedObject} */
function named(args: Arguments, name: string): string {
  const value = textOr(args[name], "");
  if (value === "") {
    throw new NovaRpcError("MalformedObject", `a message without ${name}`);
  }
  return value;
}

export function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

function flagOrNull(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

/** Parses a number of lines as Nova does: any other value counts as 0. */
function lineCount(length: unknown): number | null {
  if (length === null || length === undefined) {
    return null;
  }
  const lines = Math.trunc(Number(length));
  return Number.isSafeInteger(lines) && Math.abs(lines) <= MAX_INTEGER ? lines : 0;
}

/** Returns what the agent cannot provide for a new server, and what to do; null if it can be built. */
export function unservable(
  args: CheckedArguments,
  { ignoreNetworks }: { readonly ignoreNetworks: boolean },
): string | null {
  const wants = [
    ...(ignoreNetworks ? [] : networks(args.requested_networks)),
    ...volumes(args.block_device_mapping),
    ...devices(args),
  ];
  return wants.length === 0 ? null : wants.join("; ");
}

/** Returns what the agent cannot provide for a server that would move here; null if it can move. */
export async function unservableMove(
  args: CheckedArguments,
  { ignoreNetworks, blockDevices }: MoveTools,
): Promise<string | null> {
  const { uuid, info_cache: cache } = objectOf(args.instance, "Instance")["nova_object.data"];
  const mapping = isObject(args.bdms) ? args.bdms : await blockDevices(String(uuid));
  const wants = [...(ignoreNetworks ? [] : ports(cache)), ...attachedVolumes(mapping), ...devices(args)];
  return wants.length === 0 ? null : wants.join("; ");
}

function ports(cache: unknown): readonly string[] {
  const { network_info: text } = isObject(cache) ? objectOf(cache)["nova_object.data"] : {};
  const found: unknown = typeof text === "string" ? JSON.parse(text) : [];
  const names = (Array.isArray(found) ? found : []).map((port) => (isObject(port) ? String(port.id) : "?"));
  return names.length === 0
    ? []
    : [
        "this host attaches no networks: detach them, choose another host, or let the host's operator set " +
          `[compute_agent] ignore_networks (it has: ${names.map((name) => `port ${name}`).join(", ")})`,
      ];
}

function attachedVolumes(mapping: unknown): readonly string[] {
  const { length } = volumesIn(mapping);
  return length === 0
    ? []
    : [`this host attaches no volumes, and the server has ${length} of them: detach them, or choose another host`];
}

function networks(requested: unknown): readonly string[] {
  const requestedNetworks = objectsIn(requested, "NetworkRequestList")
    .map(({ network_id: network, port_id: port }) => ({ network, port }))
    .filter(({ network, port }) => network !== "none" || (port ?? null) !== null);
  const names = requestedNetworks.map(({ network, port }) =>
    typeof port === "string" ? `port ${port}` : network === "auto" ? "any network" : `network ${String(network)}`,
  );
  // The hint comes first, since the fault of an instance is truncated to 255 characters.
  return names.length === 0
    ? []
    : [
        "this host attaches no networks: create the server with --nic none, or let the host's operator set " +
          `[compute_agent] ignore_networks (requested: ${names.join(", ")})`,
      ];
}

function volumes(mapping: unknown): readonly string[] {
  const requestedVolumes = volumesIn(mapping);
  return requestedVolumes.length === 0
    ? []
    : [
        `this host attaches no volumes, and ${requestedVolumes.length} of them are requested: boot the server from its image only`,
      ];
}

function volumesIn(mapping: unknown): readonly unknown[] {
  return objectsIn(mapping, "BlockDeviceMappingList").filter(({ destination_type: type }) => type === "volume");
}

/** Returns all other requirements of a flavor or an image. Fields not loaded in the instance are in the request spec. */
function devices({ instance, request_spec: spec, accel_uuids: accelerators }: CheckedArguments): readonly string[] {
  const specData = isObject(spec) ? objectOf(spec)["nova_object.data"] : {};
  const { pci_requests: pci, numa_topology: numa } = {
    ...specData,
    ...objectOf(instance, "Instance")["nova_object.data"],
  };
  const requests = isObject(pci) ? objectOf(pci)["nova_object.data"].requests : null;
  const unsupported = [
    ...(Array.isArray(accelerators) && accelerators.length > 0 ? ["accelerators"] : []),
    ...(Array.isArray(requests) && requests.length > 0 ? ["PCI devices"] : []),
    ...(isObject(numa) ? ["NUMA topologies or dedicated processors"] : []),
  ];
  return unsupported.length === 0
    ? []
    : [`this host has no ${unsupported.join(" and no ")}: use a flavor and an image that need none`];
}

function objectsIn(list: unknown, name: string): readonly Readonly<Record<string, unknown>>[] {
  return isObject(list) ? listedObjects(list, name).map((each) => each["nova_object.data"]) : [];
}
