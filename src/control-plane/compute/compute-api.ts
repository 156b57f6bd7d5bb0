import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Credentials } from "../credentials.js";
import { EventLoopTicks } from "../event-loop.js";
import { badRequest, HttpError, notFound } from "../http/http-error.js";
import { atOnce } from "../http/request.js";
import { authenticate, json, toServiceResponse, withHeaders } from "../http/responses.js";
import { serve } from "../http/serve.js";
import { AGGREGATE_ROUTES } from "./aggregates.js";
import { Call, type ComputeRoute } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { renderFault, storeFault } from "./api/fault.js";
import { GONE_ROUTES } from "./api/gone.js";
import {
  type ApiVersion,
  MAX_MICROVERSION,
  MIN_MICROVERSION,
  negotiateCompute,
  versionDocument,
  versionHeaders,
  versionList,
} from "./api/versions.js";
import { ASSISTED_SNAPSHOT_ROUTES } from "./assisted-volume-snapshots.js";
import { AVAILABILITY_ZONE_ROUTES } from "./availability-zones.js";
import { EXTENSION_ROUTES } from "./extensions.js";
import { EXTERNAL_EVENT_ROUTES } from "./external-events.js";
import { FLAVOR_ROUTES } from "./flavors/flavors.js";
import { FLOATING_IP_ROUTES } from "./floating-ips.js";
import { HOST_ROUTES } from "./hosts.js";
import { HYPERVISOR_ROUTES } from "./hypervisors.js";
import { IMAGE_ROUTES } from "./images.js";
import { KEYPAIR_ROUTES } from "./keypairs.js";
import { MIGRATION_ROUTES } from "./migrations.js";
import { NETWORK_ROUTES } from "./networks.js";
import { QUOTA_ROUTES } from "./quotas/quotas.js";
import { SECURITY_GROUP_ROUTES } from "./security-groups.js";
import { SERVER_GROUP_ROUTES } from "./server-groups.js";
import { endPasswordTasks } from "./servers/passwords.js";
import { SERVER_ROUTES } from "./servers/servers.js";
import { SERVICE_ROUTES } from "./services.js";
import { TENANT_USAGE_ROUTES } from "./tenant-usage.js";
import { USAGE_AUDIT_ROUTES } from "./usage-audit.js";
import { VOLUME_ROUTES } from "./volumes.js";

/** All routes of the API. @internal */
export const COMPUTE_ROUTES: readonly ComputeRoute[] = [
  ...SERVER_ROUTES,
  ...FLAVOR_ROUTES,
  ...SERVICE_ROUTES,
  ...AVAILABILITY_ZONE_ROUTES,
  ...AGGREGATE_ROUTES,
  ...HYPERVISOR_ROUTES,
  ...IMAGE_ROUTES,
  ...HOST_ROUTES,
  ...KEYPAIR_ROUTES,
  ...MIGRATION_ROUTES,
  ...EXTENSION_ROUTES,
  ...EXTERNAL_EVENT_ROUTES,
  ...NETWORK_ROUTES,
  ...FLOATING_IP_ROUTES,
  ...SECURITY_GROUP_ROUTES,
  ...QUOTA_ROUTES,
  ...TENANT_USAGE_ROUTES,
  ...USAGE_AUDIT_ROUTES,
  ...SERVER_GROUP_ROUTES,
  ...VOLUME_ROUTES,
  ...ASSISTED_SNAPSHOT_ROUTES,
  ...GONE_ROUTES,
];

/** The result of authentication and version negotiation. */
interface Caller {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: number;
  readonly credentials: Credentials;
  readonly legacy: boolean;
  /** The project's id in the path if the token belongs to another project. */
  readonly foreignProject?: string | undefined;
}

/** Creates Nova's API; mount it at `/compute`. */
export function createComputeApi(deps: ComputeDeps): ServiceHandler {
  endPasswordTasks(deps);
  deps.store.blockDevices.removeUnreserved();
  return serve<ComputeRoute, Caller>({
    routes: COMPUTE_ROUTES,
    random: deps.random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId, "x-compute-request-id": requestId }),
    admit: (request) => admit(deps, request),
    unrouted: () => UNROUTED,
    check: (route, _request, { version, credentials, foreignProject }) => {
      if (foreignProject !== undefined) {
        throw badRequest(
          `Malformed request URL: URL's project_id '${foreignProject}' doesn't match Context's project_id '${credentials.projectId}'`,
        );
      }
      if (version < (route.from ?? 0) || version > (route.until ?? MAX_MICROVERSION)) {
        throw notFound();
      }
    },
    handle: (route, routed, { version, credentials, legacy }) => {
      const call = new Call(routed, { deps, version, credentials, legacy });
      return atOnce(route.handle(call), (response) => {
        const headers = { "content-type": "application/json", ...response.headers };
        return toServiceResponse({ ...response, headers }, routed.request, new EventLoopTicks(deps));
      });
    },
    render: (error) => (error === UNROUTED ? UNROUTED_PAGE : renderFault(error)),
    toHttpError: (error, { request, requestId, route }) => {
      const fault = storeFault(error);
      if (fault) {
        return fault;
      }
      deps.logger.error("Unexpected exception in API method", {
        err: error,
        request_id: requestId,
        method: request.method,
        route: route?.path,
      });
      return new HttpError(
        500,
        "Unexpected API Error. Please report this, with the request id, to those who run this cloud.\n" +
          `${error instanceof Error ? `<class '${error.name}'>` : ""}`,
      );
    },
  });
}

function admit({ validate }: ComputeDeps, request: ServiceRequest): Caller | { readonly response: ServiceResponse } {
  const [api, path] = splitVersion(request.path.replaceAll(REPEATED_SLASHES, "/"));
  const isDiscovery = path === "" && request.method === "GET";
  if (api === undefined) {
    if (isDiscovery) {
      return { response: json(200, versionList(request.baseUrl)) };
    }
    throw UNROUTED;
  }
  const credentials = isDiscovery ? undefined : authenticate(validate, request, "/compute");
  if (credentials && "response" in credentials) {
    return credentials;
  }
  const legacy = api === "v2.0";
  const version = legacy ? MIN_MICROVERSION : negotiateCompute(request);
  const headers = legacy ? {} : versionHeaders(version);
  if (!credentials) {
    return { response: withHeaders(json(200, versionDocument(request.baseUrl, api)), headers) };
  }
  if (path.endsWith("/")) {
    return { response: withHeaders(UNROUTED_PAGE, headers) };
  }
  return { ...splitProject(path, credentials.projectId), headers, version, credentials, legacy };
}

/** Nova's URL map collapses repeated slashes before it searches a route. */
const REPEATED_SLASHES = /\/{2,}/g;

/** Splits `/v2.1/servers` into the version and `/servers`. */
function splitVersion(path: string): [ApiVersion | undefined, string] {
  const match = /^\/(v2\.1|v2|v2\.0)(?:\/(.*))?$/.exec(path);
  if (!match) {
    return [undefined, path === "/" ? "" : path];
  }
  const rest = match[2] ?? "";
  return [match[1] === "v2.1" ? "v2.1" : "v2.0", rest === "" ? "" : `/${rest}`];
}

/** A project's id at the start of a path. No resource of the API has such a name. */
const PROJECT = /^\/([0-9a-f-]+)(?=\/)/;

/** Removes the project's id, which clients with an old catalog put after the version. */
function splitProject(path: string, own: string | null): Pick<Caller, "path" | "foreignProject"> {
  if (own !== null && path.startsWith(`/${own}/`)) {
    return { path: path.slice(own.length + 1) };
  }
  const [prefix, foreignProject] = PROJECT.exec(path) ?? [];
  return prefix === undefined ? { path } : { path: path.slice(prefix.length), foreignProject };
}

const UNROUTED = notFound();

/**
 * The exact response of Nova's web framework to a path without a route. It is also the response to a known path with
 * another method, and to a path that ends with a slash.
 */
const UNROUTED_PAGE = json(404, {
  message: "The resource could not be found.<br /><br />\n\n\n",
  code: "404 Not Found",
  title: "Not Found",
});
