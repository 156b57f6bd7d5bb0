import { badRequest, forbidden, HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { type Schema, type SchemaVersions, schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "./api/call.js";
import { BOOLEAN, bodyOf, INTEGER_TEXT, isTrue, MULTI, object, querySchema } from "./api/schema-parts.js";
import { LAST_PROXY } from "./network-proxy.js";

type VolumeRecord = Readonly<Record<string, Json>>;

/** A kind of records of Block Storage, by Nova's and by Cinder's names. */
interface ProxiedResource {
  readonly collection: "volumes" | "snapshots";
  readonly singular: "volume" | "snapshot";
  /** The prefix of its policies. */
  readonly policy: string;
  readonly view: (record: VolumeRecord) => VolumeRecord;
}

const VOLUMES: ProxiedResource = {
  collection: "volumes",
  singular: "volume",
  policy: "os_compute_api:os-volumes:",
  view: volumeView,
};

const SNAPSHOTS: ProxiedResource = {
  collection: "snapshots",
  singular: "snapshot",
  policy: "os_compute_api:os-volumes:snapshots:",
  view: snapshotView,
};

const TEXT = { type: "string" };

type CreateBody = { readonly [singular: string]: VolumeRecord };

const CREATE_VOLUME = schemas<CreateBody>([
  1,
  bodyOf(
    "volume",
    object(
      {
        volume_type: TEXT,
        metadata: { type: "object" },
        snapshot_id: TEXT,
        size: { type: ["integer", "string"], pattern: "^[0-9]+$", minimum: 1 },
        availability_zone: TEXT,
        display_name: TEXT,
        display_description: TEXT,
      } satisfies Readonly<Record<string, Schema>>,
      ["size"],
    ),
  ),
]);

const CREATE_SNAPSHOT = schemas<CreateBody>([
  1,
  bodyOf(
    "snapshot",
    object({ volume_id: TEXT, force: BOOLEAN, display_name: TEXT, display_description: TEXT }, ["volume_id"]),
  ),
]);

/** Nova's proxies of Block Storage, for clients of old microversions. */
export const VOLUME_ROUTES: readonly ComputeRoute[] = [
  ...proxyRoutes(VOLUMES, CREATE_VOLUME, (requested) => ({
    ...requested,
    name: requested.display_name ?? null,
    description: requested.display_description ?? null,
  })),
  ...proxyRoutes(SNAPSHOTS, CREATE_SNAPSHOT, ({ volume_id, force, display_name, display_description }) => ({
    volume_id: volume_id ?? null,
    force: isTrue(force),
    name: display_name ?? null,
    description: display_description ?? null,
  })),
];

function proxyRoutes(
  resource: ProxiedResource,
  schema: SchemaVersions<CreateBody>,
  toRequest: (requested: VolumeRecord) => VolumeRecord,
): readonly ComputeRoute[] {
  const { collection, singular, policy } = resource;
  return routes<ComputeRoute>(
    {
      "GET /": (call) => list(call, resource, "list"),
      "GET /detail": (call) => list(call, resource, "detail"),
      "GET /:id": async (call) => {
        requireReader(call, `${policy}show`);
        const record = await requestVolumes(call, resource, { method: "GET", path: `/${call.param("id")}` });
        return { body: { [singular]: resource.view(record as VolumeRecord) } };
      },
      "POST /": async (call) => {
        const requested = call.body(schema)[singular] ?? {};
        requireMember(call, `${policy}create`);
        const body = { [singular]: toRequest(requested) };
        const record = (await requestVolumes(call, resource, { method: "POST", path: "", body })) as VolumeRecord;
        const location = `${call.request.baseUrl}${call.request.path}/${String(record.id)}`;
        const headers = resource === VOLUMES ? { location } : {};
        return { headers, body: { [singular]: resource.view(record) } };
      },
      "DELETE /:id": async (call) => {
        requireMember(call, `${policy}delete`);
        await requestVolumes(call, resource, { method: "DELETE", path: `/${call.param("id")}` });
        return { status: 202 };
      },
    },
    { prefix: `/os-${collection}`, until: LAST_PROXY },
  );
}

const LIST = schemas<unknown>([1, querySchema({ limit: MULTI(INTEGER_TEXT), offset: MULTI(INTEGER_TEXT) }, true)]);

async function list(call: Call, resource: ProxiedResource, rule: string): Promise<ComputeResponse> {
  call.checkQuery(LIST);
  requireReader(call, resource.policy + rule);
  const records = await requestVolumes(call, resource, { method: "GET", path: "/detail" });
  const offset = Number(call.query.get("offset") ?? 0);
  const limit = Number(call.query.get("limit") ?? 0);
  const page = (records as readonly VolumeRecord[]).slice(offset, limit === 0 ? undefined : offset + limit);
  return { body: { [resource.collection]: page.map(resource.view) } };
}

function volumeView(volume: VolumeRecord): VolumeRecord {
  const [attachment] = volume.attachments as readonly VolumeRecord[];
  const { id, status, size } = volume;
  return {
    ...{ id, status, size },
    availabilityZone: volume.availability_zone,
    createdAt: volume.created_at,
    attachments: [
      attachment
        ? {
            ...{ id, volumeId: id, serverId: attachment.server_id },
            ...(attachment.device && { device: attachment.device }),
          }
        : {},
    ],
    displayName: volume.name,
    displayDescription: volume.description,
    volumeType: volume.volume_type,
    snapshotId: volume.snapshot_id,
    metadata: volume.metadata,
  } as VolumeRecord;
}

function snapshotView(snapshot: VolumeRecord): VolumeRecord {
  const { id, status, size } = snapshot;
  return {
    ...{ id, status, size },
    volumeId: snapshot.volume_id,
    createdAt: snapshot.created_at,
    displayName: snapshot.name,
    displayDescription: snapshot.description,
  } as VolumeRecord;
}

interface VolumeRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path below the collection. */
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Sends a request to Block Storage with the caller's token, so that its policies apply.
 * @returns the only member of the response's body
 * @throws {HttpError} 400, 403, 404
 */
async function requestVolumes(
  call: Call,
  { collection }: ProxiedResource,
  { method, path, body }: VolumeRequest,
): Promise<Json> {
  const { headers, baseUrl } = call.request;
  const response = await call.deps.volumeService({
    method,
    path: `/v3/${call.credentials.projectId ?? ""}/${collection}${path}`,
    query: "",
    headers: { "x-auth-token": headers["x-auth-token"] ?? "", "content-type": "application/json" },
    body: body === undefined ? "" : JSON.stringify(body),
    baseUrl: baseUrl.replace(/\/compute$/, "/volume"),
  });
  const text = response.pieces === undefined ? response.body : (await response.pieces).join("");
  const document = (text === "" ? {} : JSON.parse(text)) as Readonly<Record<string, Json>>;
  const [member = null] = Object.values(document);
  if (response.status < 300) {
    return member;
  }
  throw toFault(call, response.status, String((member as VolumeRecord | null)?.message));
}

/** Converts an error of Block Storage to Nova's. */
function toFault({ requestId }: Call, status: number, message: string): HttpError {
  switch (status) {
    case 400:
      return badRequest(`Invalid input received: ${message} (HTTP 400) (Request-ID: ${requestId})`);
    case 403:
      return forbidden(message);
    case 404:
      return notFound(message);
    case 413:
      return forbidden(message);
    default:
      return new HttpError(status, message);
  }
}
