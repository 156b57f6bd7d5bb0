import { badRequest, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { isoMicroseconds } from "../../http/times.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { listRecords } from "../engine/lists.js";
import { readRoutes } from "../engine/resource-routes.js";
import { BOOLEAN_TEXT, booleanFromText, NULL_OR_UUID, object } from "../engine/schema-parts.js";
import { quotasOf, usedQuotas } from "../quotas/quotas.js";
import { ATTACHMENTS } from "../resources/attachments.js";
import { BACKUPS } from "../resources/backups.js";
import { GROUP_SNAPSHOTS, GROUPS } from "../resources/groups.js";
import { MESSAGES } from "../resources/messages.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { TYPES } from "../resources/types.js";
import { VOLUMES } from "../resources/volumes.js";
import { capabilitiesOf, isVolumeServiceDown, listPools } from "./pools.js";

/** Resources with filters of users, in the order of `GET /resource_filters`. */
const FILTERED = [VOLUMES, BACKUPS, SNAPSHOTS, GROUPS, GROUP_SNAPSHOTS, ATTACHMENTS, MESSAGES];

function listFilters({ query }: BlockStorageCall): RouteResponse {
  const all = [
    ...FILTERED.map(({ list }) => ({ resource: list?.filterName ?? "", filters: list?.userFilters ?? [] })),
    { resource: "pool", filters: ["name", "volume_type"] },
    { resource: "volume_type", filters: TYPES.list?.userFilters ?? [] },
  ];
  const requested = query.get("resource");
  return {
    body: { resource_filters: all.filter(({ resource }) => requested === undefined || resource === requested) },
  };
}

/** Names of limits, with the quotas that they show. */
const LIMITS: readonly (readonly [name: string, quota: string])[] = [
  ["maxTotalVolumes", "volumes"],
  ["maxTotalSnapshots", "snapshots"],
  ["maxTotalVolumeGigabytes", "gigabytes"],
  ["maxTotalBackups", "backups"],
  ["maxTotalBackupGigabytes", "backup_gigabytes"],
];

const USED: readonly (readonly [name: string, quota: string])[] = [
  ["totalVolumesUsed", "volumes"],
  ["totalGigabytesUsed", "gigabytes"],
  ["totalSnapshotsUsed", "snapshots"],
  ["totalBackupsUsed", "backups"],
  ["totalBackupGigabytesUsed", "backup_gigabytes"],
];

/** The first minor microversion in which administrators see limits of other projects. */
const LIMITS_OF_OTHERS = 39;

function showLimits({ context, query, version }: BlockStorageCall): RouteResponse {
  const { isAdmin, projectId: own } = context.caller;
  const projectId = (version >= LIMITS_OF_OTHERS && isAdmin && query.get("project_id")) || own;
  const limits = quotasOf(context, projectId);
  const used = usedQuotas(context, projectId);
  const absolute = [
    ...LIMITS.map(([name, quota]) => [name, limits[quota] ?? -1] as const),
    ...USED.map(([name, quota]) => [name, used[quota] ?? 0] as const),
  ];
  return { body: { limits: { rate: [], absolute: Object.fromEntries(absolute) } } };
}

/** The first minor microversion in which pools are filtered. */
const POOL_FILTERS = 28;

function showPools({ context, query, version }: BlockStorageCall): RouteResponse {
  context.authorize("scheduler_extension:scheduler_stats:get_pools");
  const { maxOverSubscriptionRatio: ratio } = context.services.options;
  const isDetailed = booleanFromText(query.get("detail"));
  const requestedName = version >= POOL_FILTERS ? query.get("name") : undefined;
  const pools = listPools(context).filter(
    ({ name, service }) => !service.disabled && (requestedName === undefined || requestedName === name),
  );
  const timestamp = isoMicroseconds(context.now);
  const more = { timestamp, filter_function: null, goodness_function: null };
  return {
    body: {
      pools: pools.map((pool) => ({
        name: pool.name,
        ...(isDetailed && { capabilities: { ...capabilitiesOf(pool, ratio), ...more } }),
      })),
    },
  };
}

/** Capabilities that drivers describe: name, title and the begin of the description. */
const CAPABILITIES = [
  ["thin_provisioning", "Thin Provisioning", "Sets thin provisioning."],
  ["compression", "Compression", "Enables compression."],
  ["qos", "QoS", "Enables QoS."],
  ["replication_enabled", "Replication", "Enables replication."],
];

function showCapabilities({ context, params }: BlockStorageCall): RouteResponse {
  context.authorize("volume_extension:capabilities");
  const host = params.id ?? "";
  const pool = listPools(context).find(({ service }) => service.host === host || service.host.startsWith(`${host}@`));
  if (pool === undefined) {
    throw notFound(`Can't find service: ${host}`);
  }
  const properties = CAPABILITIES.map(([name, title, description]) => [name, { title, description, type: "boolean" }]);
  return {
    body: {
      namespace: `OS::Storage::Capabilities::${host}`,
      vendor_name: "Open Source",
      volume_backend_name: pool.backEnd.name,
      pool_name: null,
      driver_version: "3.0.0",
      storage_protocol: "iSCSI",
      display_name: null,
      description: null,
      visibility: null,
      replication_targets: [],
      properties: Object.fromEntries(properties),
    },
  };
}

/** A zone is available while a volume service of it is enabled and up. */
function listZones({ context }: BlockStorageCall): RouteResponse {
  const isDown = isVolumeServiceDown(context);
  const zones = new Map<string, boolean>();
  for (const { backEnd, service } of listPools(context)) {
    const zone = backEnd.availabilityZone;
    zones.set(zone, zones.get(zone) === true || (!service.disabled && !isDown));
  }
  const all = [...zones].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    body: { availabilityZoneInfo: all.map(([zoneName, available]) => ({ zoneName, zoneState: { available } })) },
  };
}

const HOST_NAME = { type: ["string", "null"], minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._#@:/+]*$" };

const CLEANUP: SchemaVersions<Body> = schemas([
  24,
  object({
    cluster_name: HOST_NAME,
    disabled: BOOLEAN_TEXT,
    host: HOST_NAME,
    is_up: BOOLEAN_TEXT,
    binary: { enum: ["cinder-volume", "cinder-scheduler"] },
    resource_id: NULL_OR_UUID,
    resource_type: { type: ["string", "null"], minLength: 0, maxLength: 40 },
    service_id: { type: ["integer", "string", "null"], pattern: "^[0-9]*$", maxLength: 11 },
  }),
]);

function noCluster({ context, params }: BlockStorageCall): never {
  context.authorize("clusters:get");
  throw notFound(`Cluster {'binary': 'cinder-volume', 'name': '${params.id ?? ""}'} could not be found.`);
}

function noClusters({ context }: BlockStorageCall): RouteResponse {
  context.authorize("clusters:get_all");
  return { body: { clusters: [] } };
}

/** Responses without records of their own. */
export const VIEW_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>({
    "GET /resource_filters": { from: 33, handle: listFilters },
    "GET /limits": showLimits,
    "GET /scheduler-stats/get_pools": showPools,
    "GET /capabilities/:id": showCapabilities,
    "GET /os-availability-zone": listZones,
    "GET /clusters": { from: 7, handle: noClusters },
    "GET /clusters/detail": { from: 7, handle: noClusters },
    "GET /clusters/:id": { from: 7, handle: noCluster },
    "PUT /clusters/:id": { from: 7, handle: noCluster },
    "POST /workers/cleanup": {
      from: 24,
      body: CLEANUP,
      handle: (call) => {
        call.body(CLEANUP);
        call.context.authorize("workers:cleanup");
        return { status: 202, body: { cleaning: [], unavailable: [] } };
      },
    },
    "DELETE /messages/:id": {
      from: 3,
      handle: ({ context, params }) => {
        const message = context.require(MESSAGES, params.id ?? "");
        context.authorize("message:delete", message);
        context.table(MESSAGES).delete(message.id);
        return { status: 204 };
      },
    },
  }),
  ...readRoutes(MESSAGES, { list: "message:get_all", show: "message:get", hasDetails: false }),
  ...routes<BlockStorageRoute>(
    {
      "GET /": (call) => listRecords(call, GROUPS, { level: "summary", key: "consistencygroups" }),
      "GET /detail": (call) => listRecords(call, GROUPS, { level: "detail", key: "consistencygroups" }),
      ...formerGroups("ConsistencyGroup"),
      "POST /create_from_src": noFormerGroup,
      "PUT /:id": missing("ConsistencyGroup"),
      "POST /:id/delete": missing("ConsistencyGroup"),
      "PUT /:id/update": missing("ConsistencyGroup"),
    },
    { prefix: "/consistencygroups" },
  ),
  ...routes<BlockStorageRoute>(
    {
      "GET /": () => ({ body: { cgsnapshots: [] } }),
      "GET /detail": () => ({ body: { cgsnapshots: [] } }),
      ...formerGroups("CgSnapshot"),
    },
    { prefix: "/cgsnapshots" },
  ),
];

/** The former groups and their snapshots: none can be created, since no volume type allows it. */
function formerGroups(title: string) {
  return { "POST /": noFormerGroup, "GET /:id": missing(title), "DELETE /:id": missing(title) } as const;
}

function missing(title: string) {
  return ({ params }: BlockStorageCall): never => {
    throw notFound(`${title} ${params.id ?? ""} could not be found.`);
  };
}

function noFormerGroup(): never {
  throw badRequest("Invalid ConsistencyGroup: the volume types do not allow consistency groups; use groups instead.");
}
