import type { Random } from "../../runtime/random.js";
import type { ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import type { Query } from "../http/query.js";
import { authenticationRequired, json } from "../http/responses.js";
import { serve } from "../http/serve.js";
import type { Store } from "../store/store.js";
import { BASE, type Image, imageView } from "./images.js";
import { IMAGE_SCHEMA, IMAGES_SCHEMA } from "./schemas.js";
import { shelvedSnapshots } from "./snapshots.js";

export interface ImageOptions {
  readonly validate: ValidateToken;
  readonly random: Random;
  readonly store: Pick<Store, "instances">;
}

export function createImageApi(options: ImageOptions) {
  return {
    /** Undefined: there is no such image. */
    properties: (id: string): Readonly<Record<string, string>> | undefined =>
      find([BASE, ...shelvedSnapshots(options.store)], id)?.properties,
    /** Glance's API v2, to read; mount it at `/image`. */
    handle: serve<Route, Caller>({
      routes: ROUTES,
      random: options.random,
      headers: (requestId) => ({ "x-openstack-request-id": requestId }),
      admit: (request) => admit(options, request),
      unrouted: (_, { kind }) =>
        kind === "unknown"
          ? html(404, "Not Found", "The resource could not be found.")
          : html(405, "Method Not Allowed", "The images of this cloud can be read, not changed."),
      answer: (route, { caller, params, query }) => {
        const body = route.answer(visible(options, caller), params, query);
        return body === undefined ? html(404, "Not Found", `No image found with ID ${params.id}`) : json(200, body);
      },
    }),
  };
}

interface Caller {
  readonly path: string;
  readonly caller: Credentials;
}

interface Route {
  readonly method: "GET";
  readonly path: string;
  /** @param images the images that the caller may see */
  readonly answer: (images: readonly Image[], params: Readonly<Record<string, string>>, query: Query) => unknown;
}

const ROUTES: readonly Route[] = [
  { method: "GET", path: "/v2/schemas/images", answer: () => IMAGES_SCHEMA },
  { method: "GET", path: "/v2/schemas/image", answer: () => IMAGE_SCHEMA },
  { method: "GET", path: "/v2/images", answer: (images, _, query) => list(images, query) },
  {
    method: "GET",
    path: "/v2/images/:id",
    answer: (images, { id = "" }) => {
      const image = find(images, id);
      return image && imageView(image);
    },
  },
];

/** Glance shows administrators everything. */
function visible({ store }: ImageOptions, { projectId, roles }: Credentials): readonly Image[] {
  return [BASE, ...shelvedSnapshots(store).filter(({ owner }) => owner === projectId || roles.includes("admin"))];
}

function find(images: readonly Image[], id: string): Image | undefined {
  return images.find((image) => image.id === id.toLowerCase());
}

function list(all: readonly Image[], query: Query): unknown {
  const marker = all.findIndex(({ id }) => id === query.get("marker"));
  const named = query.get("name")?.replace(/^in:/, "").split(",");
  const ids = query.get("id")?.replace(/^in:/, "").split(",");
  const images = all
    .slice(marker + 1)
    .filter(({ id, name }) => (named?.includes(name) ?? true) && (ids?.includes(id) ?? true));
  const limit = Number.parseInt(query.get("limit") ?? "1000", 10);
  const page = images.slice(0, Number.isNaN(limit) ? undefined : Math.max(0, limit));
  return { images: page.map(imageView), schema: "/v2/schemas/images", first: "/v2/images" };
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

/** Glance answers errors as pages. */
function html(status: number, title: string, detail: string): ServiceResponse {
  return {
    status,
    headers: { "content-type": "text/html; charset=UTF-8" },
    body: `<html>
 <head>
  <title>${status} ${title}</title>
 </head>
 <body>
  <h1>${status} ${title}</h1>
  ${escapeHtml(detail)}<br /><br />
 </body>
</html>`,
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
