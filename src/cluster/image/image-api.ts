import { DuplicateRecord } from "../../conductor/errors.js";
import type { Random } from "../../runtime/random.js";
import type { ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import { DOOR_LIMITS, excessOf, excessText } from "../http/door-limits.js";
import type { Query } from "../http/query.js";
import { authenticationRequired, json, withHeaders } from "../http/responses.js";
import { serve } from "../http/serve.js";
import { html } from "./html.js";
import { download, upload } from "./image-data.js";
import { BadImage, readNewImage, readPatch } from "./image-requests.js";
import type { ImageStore } from "./image-store.js";
import { type Image, imageView, PLAIN } from "./images.js";
import { IMAGE_SCHEMA, IMAGES_SCHEMA } from "./schemas.js";

export interface ImageOptions {
  readonly validate: ValidateToken;
  readonly random: Random;
  readonly store: ImageStore;
}

/** Glance's API v2; mount it at `/image`. */
export function createImageApi(options: ImageOptions) {
  const { store, random } = options;
  return serve<Route, Caller>({
    routes: ROUTES,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: (_, { kind }) =>
      kind === "unknown"
        ? html(404, "Not Found", "The resource could not be found.")
        : html(405, "Method Not Allowed", "The resource has no such method."),
    answer: async (route, call) => {
      try {
        return await route.answer({ ...call, store, random });
      } catch (error) {
        if (error instanceof BadImage) {
          return html(error.status, TITLES[error.status] ?? "Error", error.message);
        }
        throw error;
      }
    },
  });
}

const TITLES: Readonly<Record<number, string>> = { 400: "Bad Request", 403: "Forbidden", 409: "Conflict" };

interface Caller {
  readonly path: string;
  readonly caller: Credentials;
}

interface ImageCall extends Caller {
  readonly request: ServiceRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly store: ImageStore;
  readonly random: Random;
}

interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly answer: (call: ImageCall) => ServiceResponse | Promise<ServiceResponse>;
}

const ROUTES: readonly Route[] = [
  { method: "GET", path: "/v2/schemas/images", answer: () => json(200, IMAGES_SCHEMA) },
  { method: "GET", path: "/v2/schemas/image", answer: () => json(200, IMAGE_SCHEMA) },
  { method: "GET", path: "/v2/images", answer: list },
  { method: "POST", path: "/v2/images", answer: create },
  { method: "GET", path: "/v2/images/:id", answer: ofImage((image) => json(200, imageView(image))) },
  { method: "PATCH", path: "/v2/images/:id", answer: ofOwn(patch) },
  { method: "DELETE", path: "/v2/images/:id", answer: ofOwn(remove) },
  { method: "GET", path: "/v2/images/:id/file", answer: ofImage((image, { store }) => download(store, image)) },
  {
    method: "PUT",
    path: "/v2/images/:id/file",
    answer: ofOwn((image, call) => upload(call.store, image, call.request)),
  },
];

/** Glance shows administrators everything. */
function sees({ projectId, roles }: Credentials, { owner, visibility }: Image): boolean {
  return ["public", "community"].includes(visibility) || owner === projectId || roles.includes("admin");
}

function ofImage(
  answer: (image: Image, call: ImageCall) => ServiceResponse | Promise<ServiceResponse>,
): Route["answer"] {
  return (call) => {
    const { id = "" } = call.params;
    const image = call.store.table.get(id);
    return image && sees(call.caller, image)
      ? answer(image, call)
      : html(404, "Not Found", `No image found with ID ${id}`);
  };
}

/** For what only the owner's members and administrators may do. */
function ofOwn(answer: (image: Image, call: ImageCall) => ServiceResponse | Promise<ServiceResponse>): Route["answer"] {
  return ofImage((image, call) => {
    const { projectId, roles } = call.caller;
    const may = roles.includes("admin") || (image.owner === projectId && roles.includes("member"));
    return may ? answer(image, call) : html(403, "Forbidden", "You are not authorized to complete this action.");
  });
}

function list({ store, caller, query }: ImageCall): ServiceResponse {
  const all = store.table.list().filter((image) => sees(caller, image));
  const marker = all.findIndex(({ id }) => id === query.get("marker"));
  const named = query.get("name")?.replace(/^in:/, "").split(",");
  const ids = query.get("id")?.replace(/^in:/, "").split(",");
  const status = query.get("status")?.replace(/^in:/, "").split(",");
  const images = all
    .slice(marker + 1)
    .filter(
      (image) =>
        (named?.includes(image.name ?? "") ?? true) &&
        (ids?.includes(image.id) ?? true) &&
        (status?.includes(image.status) ?? true),
    );
  const limit = Number.parseInt(query.get("limit") ?? "1000", 10);
  const page = images.slice(0, Number.isNaN(limit) ? undefined : Math.max(0, limit));
  return json(200, { images: page.map(imageView), schema: "/v2/schemas/images", first: "/v2/images" });
}

function create({ store, random, caller, request }: ImageCall): ServiceResponse {
  const { id = random.uuid(), facts } = readNewImage(bodyOf(request));
  const admin = caller.roles.includes("admin");
  if (!admin && !caller.roles.includes("member")) {
    throw new BadImage("You are not authorized to complete this action.", 403);
  }
  refuseForeign(facts, caller);
  if (store.table.get(id)) {
    throw new BadImage(`Image ID ${id} already exists!`, 409);
  }
  try {
    const image = store.table.add(id, { ...PLAIN, owner: caller.projectId, ...facts });
    const place = { location: `${request.baseUrl}/v2/images/${id}` };
    return withHeaders(json(201, imageView(image)), place);
  } catch (error) {
    throw error instanceof DuplicateRecord ? new BadImage(`Image ID ${id} already exists!`, 409) : error;
  }
}

function patch(image: Image, { store, caller, request }: ImageCall): ServiceResponse {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/openstack-images-v2\.[01]-json-patch$/.test(type)) {
    return html(415, "Unsupported Media Type", `The request media type ${type} is not supported.`);
  }
  const changes = readPatch(image, bodyOf(request));
  refuseForeign(changes, caller);
  const begun = image.status !== "queued";
  if (begun && (changes.diskFormat !== undefined || changes.containerFormat !== undefined)) {
    throw new BadImage("Attribute disk_format or container_format can be only replaced for a queued image.", 403);
  }
  store.table.change(image.id, [image.status], changes);
  return json(200, imageView(store.table.get(image.id) ?? image));
}

function remove(image: Image, { store }: ImageCall): ServiceResponse {
  if (image.protected) {
    return html(403, "Forbidden", `Image ${image.id} is protected and cannot be deleted.`);
  }
  store.remove(image.id);
  return { status: 204, headers: {}, body: "" };
}

/** Images that all see, and those of other projects, are for administrators. @throws {BadImage} */
function refuseForeign(
  facts: { readonly visibility?: string; readonly owner?: string | null },
  caller: Credentials,
): void {
  const foreign = facts.owner !== undefined && facts.owner !== caller.projectId;
  if (!caller.roles.includes("admin") && (facts.visibility === "public" || foreign)) {
    throw new BadImage("You are not authorized to complete this action.", 403);
  }
}

/** @throws {BadImage} */
function bodyOf({ body }: ServiceRequest): unknown {
  const excess = excessOf(body, DOOR_LIMITS.nova);
  if (excess) {
    throw new BadImage(excessText(excess, DOOR_LIMITS.nova));
  }
  try {
    return JSON.parse(body);
  } catch {
    throw new BadImage("Malformed JSON in request body.");
  }
}

function admit({ validate }: ImageOptions, request: ServiceRequest): Caller | { readonly answer: ServiceResponse } {
  const discovery = versions(request);
  if (discovery) {
    return { answer: discovery };
  }
  const caller = validate(request.headers["x-auth-token"] ?? "");
  return caller ? { path: request.path, caller } : { answer: authenticationRequired(request, "/image") };
}

function versions({ method, path, baseUrl }: ServiceRequest): ServiceResponse | undefined {
  if (method !== "GET" || !["", "/", "/versions", "/v2", "/v2/"].includes(path)) {
    return undefined;
  }
  const links = [{ rel: "self", href: `${baseUrl}/v2/` }];
  return json(path === "/versions" ? 200 : 300, { versions: [{ id: "v2.9", status: "CURRENT", links }] });
}
