import { badRequest, HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, readPage } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { boolFromText, METADATA } from "./api/schema-parts.js";

/** An image as the Image API returns it. */
type ImageDocument = Readonly<Record<string, unknown>> & { readonly id: string };

interface ImageRequest {
  readonly method: "GET" | "PATCH" | "DELETE";
  /** Path below `/v2/images`. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
}

const pathOf = (call: Call): string => `/${encodeURIComponent(call.param("id"))}`;

/** Attributes of every image. All others are its properties. */
const BASE: ReadonlySet<string> = new Set([
  ...["id", "name", "status", "visibility", "protected", "owner", "tags", "size", "virtual_size", "checksum"],
  ...["disk_format", "container_format", "min_disk", "min_ram", "created_at", "updated_at", "os_hidden"],
  ...["os_hash_algo", "os_hash_value", "self", "file", "schema", "stores"],
]);

const STATUSES: Readonly<Record<string, string>> = { active: "ACTIVE", queued: "SAVING", saving: "SAVING" };

const PROGRESS: Readonly<Record<string, number>> = { queued: 25, saving: 50, active: 100 };

type Metadata = Readonly<Record<string, string>>;

/** Nova removed the metadata of images three microversions after the other image proxies. */
const METADATA_UNTIL = 38;

const ALL = schemas<{ readonly metadata: Metadata }>([
  1,
  { type: "object", properties: { metadata: METADATA }, required: ["metadata"], additionalProperties: false },
]);

const ONE = schemas<{ readonly meta: Metadata }>([
  1,
  {
    type: "object",
    properties: { meta: { ...METADATA, minProperties: 1, maxProperties: 1 } },
    required: ["meta"],
    additionalProperties: false,
  },
]);

const pointer = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

const IMAGE_METADATA_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/images/:id/metadata",
    until: METADATA_UNTIL,
    handle: async (deps, call) => ({ body: { metadata: metadataOf(await findImage(deps, call)) } }),
  },
  {
    method: "POST",
    path: "/images/:id/metadata",
    until: METADATA_UNTIL,
    handle: async (deps, call) => {
      const { metadata: added } = call.body(ALL);
      return { body: await replace(deps, call, (metadata) => ({ ...metadata, ...added })) };
    },
  },
  {
    method: "PUT",
    path: "/images/:id/metadata",
    until: METADATA_UNTIL,
    handle: async (deps, call) => {
      const { metadata: requestedMetadata } = call.body(ALL);
      return { body: await replace(deps, call, () => requestedMetadata) };
    },
  },
  {
    method: "GET",
    path: "/images/:id/metadata/:key",
    until: METADATA_UNTIL,
    handle: async (deps, call) => {
      const key = call.param("key");
      const { [key]: value } = metadataOf(await findImage(deps, call));
      if (value === undefined) {
        throw notFound();
      }
      return { body: { meta: { [key]: value } } };
    },
  },
  {
    method: "PUT",
    path: "/images/:id/metadata/:key",
    until: METADATA_UNTIL,
    handle: async (deps, call) => {
      const { meta } = call.body(ONE);
      if (!Object.hasOwn(meta, call.param("key"))) {
        throw badRequest("Request body and URI mismatch");
      }
      await replace(deps, call, (metadata) => ({ ...metadata, ...meta }));
      return { body: { meta } };
    },
  },
  {
    method: "DELETE",
    path: "/images/:id/metadata/:key",
    until: METADATA_UNTIL,
    handle: async (deps, call) => {
      const key = call.param("key");
      await replace(deps, call, ({ [key]: value, ...others }) => {
        if (value === undefined) {
          throw notFound("Invalid metadata key");
        }
        return others;
      });
      return { status: 204 };
    },
  },
];

/** Last microversion with the proxy: since 2.36 Nova proxies no other service. */
const UNTIL = 35;

/** The Image API's names for the filters. */
const FILTERS: Readonly<Record<string, string>> = {
  name: "name",
  status: "status",
  "changes-since": "updated_at",
  server: "instance_uuid",
  type: "image_type",
  minRam: "min_ram",
  minDisk: "min_disk",
};

const OF_PROPERTY = "property-";

function filtersOf(call: Call): [string, string][] {
  return [...call.query.lists()].flatMap(([name, values]) => {
    const value = values.at(-1) ?? "";
    if (name.startsWith(OF_PROPERTY)) {
      return [[name.slice(OF_PROPERTY.length), value]];
    }
    const theirs = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    return theirs === undefined ? [] : [[theirs, valueFor(name, value)]];
  });
}

/** Converts a filter's value for the Image API. A server may be identified by its link. */
function valueFor(name: string, value: string): string {
  if (name === "changes-since") {
    return `gte:${value}`;
  }
  if (name === "server") {
    return value.replace(/^.*\//, "");
  }
  return name === "status" ? value.toLowerCase() : value;
}

/** @throws {HttpError} 400 */
async function list(deps: ComputeDeps, call: Call, path: string, show: typeof imageBrief | typeof imageDetail) {
  const { limit, marker } = readPage(call);
  const query = new URLSearchParams(filtersOf(call));
  query.set("limit", String(limit));
  if (marker !== undefined) {
    query.set("marker", marker);
  }
  const { images } = (await askImages(deps, call, { method: "GET", path: "", query })) as {
    readonly images: readonly ImageDocument[];
  };
  const last = images.length === limit ? images.at(-1) : undefined;
  const links = last === undefined ? {} : { images_links: call.links.next(path, call.query, last.id) };
  const views: readonly Json[] = images.map((image) => show(call, image));
  return { body: { images: views, ...links } };
}

async function show(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  return { body: { image: imageDetail(call, await findImage(deps, call)) } };
}

async function remove(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  await askImages(deps, call, { method: "DELETE", path: pathOf(call) });
  return { status: 204 };
}

/** Nova's proxy of the Image API, for clients of old microversions. */
export const IMAGE_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/images", until: UNTIL, handle: (deps, call) => list(deps, call, "images", imageBrief) },
  {
    method: "GET",
    path: "/images/detail",
    until: UNTIL,
    handle: (deps, call) => list(deps, call, "images/detail", imageDetail),
  },
  { method: "GET", path: "/images/:id", until: UNTIL, handle: show },
  { method: "DELETE", path: "/images/:id", until: UNTIL, handle: remove },
  ...IMAGE_METADATA_ROUTES,
];

/** Replaces all properties of the image. @throws {HttpError} 400, 403, 404 */
async function replace(
  deps: ComputeDeps,
  call: Call,
  update: (metadata: Metadata) => Metadata,
): Promise<{ readonly metadata: Metadata }> {
  const before = metadataOf(await findImage(deps, call));
  const after = update(before);
  const body = [
    ...Object.keys(before)
      .filter((name) => !Object.hasOwn(after, name))
      .map((name) => ({ op: "remove", path: pointer(name) })),
    ...Object.entries(after)
      .filter(([name, value]) => before[name] !== value)
      .map(([name, value]) => ({ op: "add", path: pointer(name), value })),
  ];
  const image = await askImages(deps, call, { method: "PATCH", path: pathOf(call), body });
  return { metadata: metadataOf(image as ImageDocument) };
}

/** Returns the image's properties, which Nova calls metadata. */
function metadataOf(image: ImageDocument): Readonly<Record<string, string>> {
  const own = Object.entries(image).filter(([name]) => !BASE.has(name));
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
}

function imageBrief(call: Call, { id, name }: ImageDocument) {
  const path = `images/${id}`;
  const links = [
    { rel: "self", href: call.links.self(path) },
    { rel: "bookmark", href: call.links.bookmark(path) },
    { rel: "alternate", type: "application/vnd.openstack.image", href: `${imageRoot(call)}/${path}` },
  ];
  return { id, name: typeof name === "string" ? name : null, links };
}

function imageDetail(call: Call, image: ImageDocument): Json {
  const metadata = metadataOf(image);
  const { instance_uuid: server, auto_disk_config: disk } = metadata;
  const status = String(image.status);
  return {
    ...imageBrief(call, image),
    minRam: Number(image.min_ram),
    minDisk: Number(image.min_disk),
    metadata,
    created: String(image.created_at),
    updated: String(image.updated_at),
    status: STATUSES[status] ?? "UNKNOWN",
    progress: PROGRESS[status] ?? 0,
    "OS-EXT-IMG-SIZE:size": Number(image.size ?? 0),
    ...(server === undefined ? {} : { server: { id: server, links: call.links.pair(`servers/${server}`) } }),
    ...(disk === undefined ? {} : { "OS-DCF:diskConfig": boolFromText(disk) ? "AUTO" : "MANUAL" }),
  };
}

/**
 * Sends a request to the Image API with the caller's token, so that its policies apply.
 * @returns the parsed JSON body
 * @throws {HttpError} 400, 403, 404
 */
async function askImages({ imageService }: ComputeDeps, call: Call, request: ImageRequest): Promise<unknown> {
  const { method, path, query, body } = request;
  const { headers } = call.request;
  const response = await imageService({
    method,
    path: `/v2/images${path}`,
    query: query?.toString() ?? "",
    headers: {
      "x-auth-token": headers["x-auth-token"] ?? "",
      "content-type": "application/openstack-images-v2.1-json-patch",
    },
    body: body === undefined ? "" : JSON.stringify(body),
    baseUrl: imageRoot(call),
  });
  if (response.status < 300) {
    return response.body === "" ? undefined : JSON.parse(response.body);
  }
  if (response.status === 404) {
    throw notFound("Image not found.");
  }
  if (response.status === 403) {
    throw new HttpError(
      403,
      method === "DELETE" ? "You are not allowed to delete the image." : "Not authorized for image.",
    );
  }
  if (response.status < 500) {
    throw badRequest(/"message": ?"([^"<]*)/.exec(response.body)?.[1]?.trim() ?? "The Image service refuses this.");
  }
  throw new Error(`Image API: ${method} /v2/images${path} failed with status ${response.status}: ${response.body}`);
}

/** Returns the URL of the Image API from the client's point of view. */
function imageRoot({ request }: Call): string {
  return request.baseUrl.replace(/\/compute$/, "/image");
}

/** Returns the image that the path names. @throws {HttpError} 404 */
async function findImage(deps: ComputeDeps, call: Call): Promise<ImageDocument> {
  return (await askImages(deps, call, { method: "GET", path: pathOf(call) })) as ImageDocument;
}
