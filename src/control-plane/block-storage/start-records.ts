import { where } from "../resources/condition.js";
import type { BlockStorageContext } from "./engine/block-storage-context.js";
import { SERVICES } from "./resources/administration.js";
import { GROUP_TYPES } from "./resources/groups.js";
import { TYPES } from "./resources/types.js";

/**
 * Creates the services of the back ends, and at the first start the types that devstack makes. What a user has changed
 * or deleted stays so. Callers run it in a transaction.
 */
export function createStartRecords(context: BlockStorageContext): void {
  const isFirst = context.table(SERVICES).count({ sql: "1", values: [] }) === 0;
  createServices(context);
  if (isFirst) {
    createTypes(context);
  }
}

function createServices(context: BlockStorageContext): void {
  const { host, backEnds, availabilityZone } = context.services.options;
  const services = [
    { binary: "cinder-scheduler", host, availability_zone: availabilityZone },
    ...backEnds.map((backEnd) => ({
      binary: "cinder-volume",
      host: `${host}@${backEnd.name}`,
      availability_zone: backEnd.availabilityZone,
    })),
    { binary: "cinder-backup", host, availability_zone: availabilityZone },
  ];
  for (const service of services) {
    if (!context.table(SERVICES).has(where`binary = ${service.binary} AND host = ${service.host}`)) {
      context.insert(SERVICES, {
        ...service,
        id: context.newId(),
        disabled: false,
        disabled_reason: null,
        frozen: false,
        created_at: context.now,
      });
    }
  }
}

function createTypes(context: BlockStorageContext): void {
  const { backEnds, defaultVolumeType } = context.services.options;
  const type = {
    description: null,
    is_public: true,
    extra_specs: {},
    qos_specs_id: null,
    encryption: null,
    projects: [],
    updated_at: null,
  };
  // Lists begin with the newest one: the default of the configuration.
  context.insert(TYPES, {
    ...type,
    id: context.newId(),
    name: "__DEFAULT__",
    description: "Default Volume Type",
    created_at: context.now - backEnds.length,
  });
  const names = [...new Set([...backEnds.map(({ name }) => name), defaultVolumeType])];
  for (const [index, name] of names.entries()) {
    const isBackEnd = backEnds.some((backEnd) => backEnd.name === name);
    context.insert(TYPES, {
      ...type,
      id: context.newId(),
      name,
      extra_specs: isBackEnd ? { volume_backend_name: name } : {},
      created_at: context.now - index,
    });
  }
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
