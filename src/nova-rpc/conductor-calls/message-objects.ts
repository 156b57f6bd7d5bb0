import { InstanceNotFound, MigrationNotFound } from "../../conductor-client/errors.js";
import { isObject } from "../../runtime/collections.js";
import { type NovaObject, novaObject, type ObjectData, objectOf } from "../objects/primitive.js";
import { builtObject } from "../objects/record-object.js";
import type { CallTools } from "./calls.js";

/** All that a real nova-compute expects to be loaded in an instance that it is sent. */
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

/** A message must have these of them to be handed on. */
const NEEDED = ["flavor", "metadata", "system_metadata", "info_cache"];

const IMAGE = "image_";
/** What of an image is not among its properties. */
const IMAGE_NUMBERS = ["min_ram", "min_disk", "size"];
const IMAGE_STRINGS = ["disk_format", "container_format", "id", "name", "status", "checksum"];

/** The instance as the conductor has it now, for another host. @param deleted one that is deleted, too */
export async function instanceToSend(
  uuid: string,
  { nova, options }: CallTools,
  { deleted = false }: { readonly deleted?: boolean } = {},
): Promise<NovaObject> {
  const instance = await nova.ask("Instance", "get_by_uuid", [uuid], FULL_INSTANCE_ATTRS, { ...options, deleted });
  if (!isObject(instance)) {
    throw new InstanceNotFound(`Instance ${uuid} could not be found.`);
  }
  return objectOf(instance, "Instance");
}

/**
 * As it came in the message that is being worked on, with all that was said of it since; without a message, or with one that says
 * less than a nova-compute needs, as {@link instanceToSend}.
 */
export async function instanceInHand(
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

/** What a conductor does not load, and a server on a host of ours never has: with these in the object, nothing asks for them. */
function withoutDevices(uuid: string, { nova: { profile } }: CallTools): ObjectData {
  return {
    numa_topology: null,
    resources: null,
    pci_requests: builtObject("InstancePCIRequests", { instance_uuid: uuid, requests: [] }, profile, []),
    pci_devices: builtObject("PciDeviceList", { objects: [] }, profile, []),
  };
}

/** As {@link instanceInHand}. */
export async function migrationInHand(id: number, tools: CallTools): Promise<NovaObject> {
  const known = tools.scopes.current?.rows.latest("Migration", id);
  return known === undefined || known["nova_object.data"].uuid === undefined
    ? migrationToSend(id, tools)
    : { ...known, "nova_object.changes": [] };
}

async function migrationToSend(id: number, { nova, options }: CallTools): Promise<NovaObject> {
  const migration = await nova.ask("Migration", "get_by_id", [id], {}, options);
  if (!isObject(migration)) {
    throw new MigrationNotFound(`Migration ${id} could not be found.`);
  }
  return objectOf(migration, "Migration");
}

/** An argument of the message that is being worked on, to be handed on; null: there is none, as after a restart. */
export function getMessageArgument(name: string, { scopes }: CallTools): unknown {
  return scopes.current?.args[name] ?? null;
}

/** The image of the message, or as much of it as the instance has kept. */
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
