import { sizesFromApi } from "../../records/flavor.js";
import type { FlavorNeed } from "../../records/resource-request.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { AuditError, isAuditError } from "../errors.js";
import type { ComputeService, Hypervisor, Migration, OnProgress, Server } from "./records.js";
import {
  asArray,
  asNumber,
  asRecord,
  asString,
  asStringOrNull,
  listAll,
  mapRecord,
  numberOr,
  timeOf,
} from "./response-fields.js";

type Entry = Readonly<Record<string, unknown>>;

/** The first microversion with uuids of migrations. */
export const MIGRATION_UUIDS = 59;

/** Reads the servers of all projects except deleted ones. @throws {AuditError} */
export async function readServers(compute: ServiceClient, onProgress: OnProgress): Promise<Server[]> {
  const list = { path: "/servers/detail?all_tenants=True&deleted=False", key: "servers", what: "servers" };
  const entries = await listAll(compute, { ...list, markerOf: ({ id }) => asString(id) }, onProgress);
  return entries.map(serverOf);
}

/**
 * Reads one server, which may be soft-deleted; lists omit those. Returns undefined if there is none. @throws * {AuditError}
 */
export async function findServer(compute: ServiceClient, uuid: string): Promise<Server | undefined> {
  const body = await compute.find(`/servers/${encodeURIComponent(uuid)}`);
  return body === undefined ? undefined : serverOf(asRecord(body.server));
}

/** The first microversion with the attachments of block devices. */
const DEVICE_ATTACHMENTS = 89;

/**
 * Returns the attachment of the block device by which a server has a volume; undefined if there is no such device, null if the
 * Compute API does not return it.
 * @throws {AuditError}
 */
export async function attachmentOfDevice(
  compute: ServiceClient,
  server: string,
  volume: string,
): Promise<string | null | undefined> {
  const path = `/servers/${encodeURIComponent(server)}/os-volume_attachments/${encodeURIComponent(volume)}`;
  try {
    const found = await compute.find(path, { version: DEVICE_ATTACHMENTS });
    return found && asStringOrNull(asRecord(found.volumeAttachment).attachment_id);
  } catch (error) {
    // An older Compute API.
    if (isAuditError(error, "CloudRefused") && error.status === 406) {
      return null;
    }
    throw error;
  }
}

const HOST = "OS-EXT-SRV-ATTR:host";

const VOLUMES = "os-extended-volumes:volumes_attached";

function serverOf(entry: Entry): Server {
  const status = asString(entry.status);
  // A server in an unresponsive cell has little more than its id (2.69).
  if (status !== "UNKNOWN" && !(HOST in entry)) {
    throw new AuditError(
      "UnexpectedAnswer",
      `server ${String(entry.id)} has no ${HOST}: these credentials lack the admin role`,
    );
  }
  return {
    id: asString(entry.id),
    name: asStringOrNull(entry.name) ?? "",
    projectId: asString(entry.tenant_id),
    userId: asStringOrNull(entry.user_id),
    host: asStringOrNull(entry[HOST]),
    node: asStringOrNull(entry["OS-EXT-SRV-ATTR:hypervisor_hostname"]),
    status,
    vmState: asStringOrNull(entry["OS-EXT-STS:vm_state"]) ?? "",
    taskState: asStringOrNull(entry["OS-EXT-STS:task_state"]),
    volumeBacked: entry.image === "",
    volumes: VOLUMES in entry ? asArray(entry[VOLUMES]).map((volume) => asString(asRecord(volume).id)) : null,
    flavor: flavorOf(status === "UNKNOWN" ? {} : asRecord(entry.flavor)),
  };
}

function flavorOf(flavor: Entry): FlavorNeed {
  return {
    ...sizesFromApi((name) => numberOr(flavor[name], 0)),
    extraSpecs: mapRecord(flavor.extra_specs ?? {}, asString),
  };
}

/** @throws {AuditError} */
export async function readMigrations(compute: ServiceClient, onProgress: OnProgress): Promise<Migration[]> {
  const list = { path: "/os-migrations", key: "migrations", what: "migrations" };
  const entries =
    compute.version >= MIGRATION_UUIDS
      ? await listAll(compute, { ...list, markerOf: ({ uuid }) => asString(uuid) }, onProgress)
      : asArray((await compute.get(list.path)).migrations).map(asRecord);
  return entries.map((entry) => ({
    id: asNumber(entry.id),
    uuid: asStringOrNull(entry.uuid),
    server: asString(entry.instance_uuid),
    type: asStringOrNull(entry.migration_type) ?? "",
    status: asString(entry.status),
    sourceHost: asStringOrNull(entry.source_compute),
    sourceNode: asStringOrNull(entry.source_node),
    destHost: asStringOrNull(entry.dest_compute),
    destNode: asStringOrNull(entry.dest_node),
    changedAt: timeOf(entry.updated_at ?? entry.created_at),
  }));
}

/** @throws {AuditError} */
export async function readHypervisors(compute: ServiceClient, onProgress: OnProgress): Promise<Hypervisor[]> {
  const list = { path: "/os-hypervisors/detail", key: "hypervisors", what: "compute nodes" };
  const entries = await listAll(compute, { ...list, markerOf: ({ id }) => asString(id) }, onProgress);
  return entries.map((entry) => ({
    uuid: asString(entry.id),
    name: asString(entry.hypervisor_hostname),
    host: asString(asRecord(entry.service).host),
    serviceUp: entry.state === "up",
    type: asStringOrNull(entry.hypervisor_type) ?? "",
    totals:
      typeof entry.vcpus === "number"
        ? { VCPU: entry.vcpus, MEMORY_MB: numberOr(entry.memory_mb, 0), DISK_GB: numberOr(entry.local_gb, 0) }
        : null,
  }));
}

/** @throws {AuditError} */
export async function readServices(compute: ServiceClient): Promise<ComputeService[]> {
  return asArray((await compute.get("/os-services?binary=nova-compute")).services)
    .map(asRecord)
    .map(({ host, state }) => ({ host: asString(host), up: state === "up" }));
}
