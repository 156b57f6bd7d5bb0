import type { Random } from "../../runtime/cryptography.js";
import type { ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import { HttpError, notFound } from "../http/http-error.js";
import { authenticate, json } from "../http/responses.js";
import { serve } from "../http/serve.js";
import { ImageCall, type ImageLimits, type ImageRoute } from "./api/call.js";
import { renderFault } from "./api/fault.js";
import { INFO_ROUTES, SCHEMA_ROUTES } from "./discovery.js";
import { DATA_ROUTES } from "./image-data.js";
import type { ImageStore } from "./image-store.js";
import { IMAGE_ROUTES } from "./images/routes.js";
import { MEMBER_ROUTES } from "./members.js";
import { METADEF_ROUTES } from "./metadefs/routes.js";

/** All routes of the API. */
const IMAGE_API_ROUTES: readonly ImageRoute[] = [
  ...SCHEMA_ROUTES,
  ...IMAGE_ROUTES,
  ...DATA_ROUTES,
  ...MEMBER_ROUTES,
  ...INFO_ROUTES,
  ...METADEF_ROUTES,
];

export interface ImageOptions {
  readonly validate: ValidateToken;
  readonly random: Random;
  readonly store: ImageStore;
  readonly limits: ImageLimits;
}

interface Caller {
  readonly path: string;
  readonly caller: Credentials;
}

/** Creates Glance's API v2; mount it at `/image`. */
export function createImageApi(options: ImageOptions) {
  const { store, random, limits } = options;
  return serve<ImageRoute, Caller>({
    routes: IMAGE_API_ROUTES,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: (match, { method }) =>
      match.kind === "unknown"
        ? notFound()
        : new HttpError(405, `The method ${method} is not allowed for this resource.`, {
            headers: { allow: match.allowed.join(", ") },
          }),
    handle: (route, routed, { caller }) => route.handle(new ImageCall(routed, { caller, store, random, limits })),
    render: (error, { request }) => renderFault(error, request),
  });
}

function admit({ validate }: ImageOptions, request: ServiceRequest): Caller | { readonly response: ServiceResponse } {
  const discovery = versions(request);
  if (discovery) {
    return { response: discovery };
  }
  const caller = authenticate(validate, request, "/image");
  if ("response" in caller) {
    return caller;
  }
  // A path with a trailing slash is unknown here, unlike in other services.
  if (request.path.endsWith("/")) {
    throw notFound();
  }
  return { path: request.path, caller };
}

/** Minor versions of a Glance with multiple stores and without a cache. */
const MINORS = [15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

function versions({ method, path, baseUrl }: ServiceRequest): ServiceResponse | undefined {
  if (method !== "GET" || !["", "/", "/versions", "/v2", "/v2/"].includes(path)) {
    return undefined;
  }
  const links = [{ rel: "self", href: `${baseUrl}/v2/` }];
  const known = MINORS.map((minor, index) => ({
    id: `v2.${minor}`,
    status: index === 0 ? "CURRENT" : "SUPPORTED",
    links,
  }));
  return json(path === "/versions" ? 200 : 300, { versions: known });
}
