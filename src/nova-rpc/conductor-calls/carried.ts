import { InstanceNotFound, MigrationNotFound } from "../../conductor/errors.js";
import { isRecord, type NovaObject, objectOf } from "../objects/primitive.js";
import type { CallTools } from "./calls.js";

/** All that a real nova-compute expects to be loaded in an instance that it is sent. */
const WHOLE = {
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

const IMAGE = "image_";
/** What of an image is not among its properties. */
const IMAGE_NUMBERS = ["min_ram", "min_disk", "size"];
const IMAGE_TEXTS = ["disk_format", "container_format", "id", "name", "status", "checksum"];

/** The instance as the conductor has it now, for another host. @param deleted one that is deleted, too */
export async function instanceToSend(
  uuid: string,
  { nova, options }: CallTools,
  { deleted = false }: { readonly deleted?: boolean } = {},
): Promise<NovaObject> {
  const instance = await nova.ask("Instance", "get_by_uuid", [uuid], WHOLE, { ...options, deleted });
  if (!isRecord(instance)) {
    throw new InstanceNotFound(`Instance ${uuid} could not be found.`);
  }
  return objectOf(instance, "Instance");
}

export async function migrationToSend(id: number, { nova, options }: CallTools): Promise<NovaObject> {
  const migration = await nova.ask("Migration", "get_by_id", [id], {}, options);
  if (!isRecord(migration)) {
    throw new MigrationNotFound(`Migration ${id} could not be found.`);
  }
  return objectOf(migration, "Migration");
}

/** An argument of the message that is being worked on, to be handed on; null: there is none, as after a restart. */
export function carried(name: string, { scopes }: CallTools): unknown {
  return scopes.current?.args[name] ?? null;
}

/** The image of the message, or as much of it as the instance has kept. */
export function imageToSend(instance: NovaObject, tools: CallTools): unknown {
  const image = carried("image", tools);
  if (image !== null) {
    return image;
  }
  const { system_metadata: kept } = instance["nova_object.data"];
  const entries = Object.entries(isRecord(kept) ? kept : {})
    .filter(([key]) => key.startsWith(IMAGE))
    .map(([key, value]) => [key.slice(IMAGE.length), value] as const);
  const own = entries.filter(([key]) => IMAGE_NUMBERS.includes(key) || IMAGE_TEXTS.includes(key));
  const properties = entries.filter(([key]) => !IMAGE_NUMBERS.includes(key) && !IMAGE_TEXTS.includes(key));
  return {
    ...Object.fromEntries(own.map(([key, value]) => [key, IMAGE_NUMBERS.includes(key) ? Number(value) : value])),
    properties: Object.fromEntries(properties),
  };
}
