import { EVERY, where } from "../resources/condition.js";
import { defaultTypeName, defaultZone } from "./block-storage-options.js";
import type { BlockStorageContext } from "./engine/block-storage-context.js";
import { SERVICES } from "./resources/administration.js";
import { GROUP_TYPES } from "./resources/groups.js";
import { TYPES } from "./resources/types.js";

/**
 * Creates the services of the back ends, and at the first start of each its volume type; at the first start of all the
 * types that devstack makes. What a user has changed or deleted stays so. Callers run it in a transaction.
 */
export function createStartRecords(context: BlockStorageContext): void {
  const isFirst = context.table(SERVICES).count(EVERY) === 0;
  const added = createServices(context);
  if (isFirst) {
    createFirstTypes(context);
  }
  // Lists begin with the newest one: the default of the configuration.
  const names = isFirst ? [...new Set([...added, defaultTypeName(context.services.options)])] : added;
  for (const [index, name] of names.entries()) {
    if (!context.table(TYPES).has(where`name = ${name}`)) {
      const extra_specs = added.includes(name) ? { volume_backend_name: name } : {};
      insertType(context, { name, extra_specs, created_at: context.now - index });
    }
  }
}

/** Returns the names of the back ends that are new. */
function createServices(context: BlockStorageContext): readonly string[] {
  const { options } = context.services;
  const { host, backEnds } = options;
  const zone = defaultZone(options);
  insertService(context, "cinder-scheduler", host, zone);
  const added = backEnds.filter(({ name, availabilityZone }) =>
    insertService(context, "cinder-volume", `${host}@${name}`, availabilityZone),
  );
  insertService(context, "cinder-backup", host, zone);
  return added.map(({ name }) => name);
}

/** Creates a service, or moves it to its configured zone. Returns whether it is new. */
function insertService(context: BlockStorageContext, binary: string, host: string, zone: string): boolean {
  const services = context.table(SERVICES);
  if (services.updateIf(where`binary = ${binary} AND host = ${host}`, { availability_zone: zone })) {
    return false;
  }
  services.insert({
    id: context.newId(),
    binary,
    host,
    availability_zone: zone,
    disabled: false,
    disabled_reason: null,
    frozen: false,
    created_at: context.now,
  });
  return true;
}

interface NewType {
  readonly name: string;
  readonly description?: string;
  readonly extra_specs?: Readonly<Record<string, string>>;
  readonly created_at: number;
  readonly updated_at?: number;
}

function insertType(context: BlockStorageContext, type: NewType): void {
  context.insert(TYPES, {
    id: context.newId(),
    description: null,
    is_public: true,
    extra_specs: {},
    qos_specs_id: null,
    encryption: null,
    projects: [],
    updated_at: null,
    ...type,
  });
}

function createFirstTypes(context: BlockStorageContext): void {
  const { backEnds } = context.services.options;
  const created_at = context.now - backEnds.length - 1;
  insertType(context, {
    name: "__DEFAULT__",
    description: "Default Volume Type",
    created_at,
    updated_at: created_at,
  });
  context.insert(GROUP_TYPES, {
    id: context.newId(),
    name: "default_cgsnapshot_type",
    description: "Default group type for migrating cgsnapshot",
    is_public: true,
    group_specs: { consistent_group_snapshot_enabled: "<is> True" },
    created_at: context.now,
    updated_at: null,
  });
}
