import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import { type MicroversionRange, negotiate } from "../http/microversion.js";
import { Query } from "../http/query.js";
import { newRequestId } from "../http/request-id.js";
import { Router } from "../http/router.js";
import { type Answer, Call, type ComputeRoute } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { Fault, notFound } from "./api/fault.js";
import { storeFault } from "./api/store-fault.js";
import { SchemaValidator } from "./api/validate.js";
import { type ApiVersion, MAX_MICROVERSION, MIN_MICROVERSION, versionDocument, versionList } from "./api/versions.js";
import { COMPUTE_ROUTES } from "./compute-routes.js";

const RANGE: MicroversionRange = {
  service: "compute",
  legacyHeader: "x-openstack-nova-api-version",
  minimum: MIN_MICROVERSION,
  maximum: MAX_MICROVERSION,
};

/** Nova's API; mount it at `/compute`. */
export function createComputeApi(deps: ComputeDeps): ServiceHandler {
  const api = new ComputeApi(deps);
  return (request) => api.handle(request);
}

class ComputeApi {
  readonly #deps: ComputeDeps;
  readonly #router: Router<ComputeRoute>;
  readonly #validator = new SchemaValidator();

  constructor(deps: ComputeDeps) {
    this.#deps = deps;
    this.#router = new Router(COMPUTE_ROUTES);
  }

  async handle(request: ServiceRequest): Promise<ServiceResponse> {
    const requestId = newRequestId(this.#deps.random);
    const response = await this.#respond(request, requestId);
    const ids = { "x-openstack-request-id": requestId, "x-compute-request-id": requestId };
    return { ...response, headers: { ...response.headers, ...ids } };
  }

  async #respond(request: ServiceRequest, requestId: string): Promise<ServiceResponse> {
    const [version, path] = splitVersion(request.path);
    if (version === undefined) {
      return path === "" && request.method === "GET" ? json(200, versionList(request.baseUrl)) : webobError(404);
    }
    const discovery = path === "" && request.method === "GET";
    const credentials = this.#deps.validate(request.headers["x-auth-token"] ?? "");
    if (!credentials && !discovery) {
      return authenticationRequired(request);
    }
    const legacy = version === "v2.0";
    const agreed = legacy ? ({ kind: "agreed", minor: MIN_MICROVERSION } as const) : negotiate(request.headers, RANGE);
    if (agreed.kind !== "agreed") {
      return versionFault(agreed.kind, agreed.version).toResponse();
    }
    const headers = legacy ? {} : versionHeaders(agreed.minor);
    if (discovery || !credentials) {
      return withHeaders(json(200, versionDocument(request.baseUrl, version)), headers);
    }
    const match = this.#router.match(request.method, withoutProject(path, credentials.projectId));
    if (match.kind === "unknown") {
      return webobError(404);
    }
    if (match.kind === "wrong-method") {
      return webobError(405, request.method, match.allowed);
    }
    const { route, params } = match;
    const query = new Query(request.query);
    const validator = this.#validator;
    const call = new Call({ request, requestId, version: agreed.minor, credentials, params, query, legacy, validator });
    return withHeaders(await this.#run(route, call), headers);
  }

  async #run(route: ComputeRoute, call: Call): Promise<ServiceResponse> {
    try {
      if (call.version < (route.from ?? 0) || call.version > (route.until ?? MAX_MICROVERSION)) {
        throw notFound();
      }
      return answered(await route.answer(this.#deps, call), call.request.method === "HEAD");
    } catch (error) {
      const fault = error instanceof Fault ? error : storeFault(error);
      if (fault) {
        return fault.toResponse();
      }
      this.#deps.logger.error("Unexpected exception in API method", {
        err: error,
        request_id: call.requestId,
        method: call.request.method,
        route: route.path,
      });
      return new Fault(
        500,
        "Unexpected API Error. Please report this, with the request id, to those who run this cloud.\n" +
          `${error instanceof Error ? `<class '${error.name}'>` : ""}`,
      ).toResponse();
    }
  }
}

/** `/v2.1/servers` → v2.1 and `/servers`. */
function splitVersion(path: string): [ApiVersion | undefined, string] {
  const match = /^\/(v2\.1|v2|v2\.0)(?:\/(.*))?$/.exec(path);
  if (!match) {
    return [undefined, path === "/" ? "" : path];
  }
  const rest = match[2] ?? "";
  return [match[1] === "v2.1" ? "v2.1" : "v2.0", rest === "" ? "" : `/${rest}`];
}

/** Clients with an old catalog put the project's id after the version. */
function withoutProject(path: string, projectId: string | null): string {
  return projectId !== null && path.startsWith(`/${projectId}/`) ? path.slice(projectId.length + 1) : path;
}

function versionHeaders(minor: number): Record<string, string> {
  return {
    "openstack-api-version": `compute 2.${minor}`,
    "x-openstack-nova-api-version": `2.${minor}`,
    vary: "OpenStack-API-Version, X-OpenStack-Nova-API-Version",
  };
}

function versionFault(kind: "malformed" | "unsupported", version: string): Fault {
  return kind === "malformed"
    ? new Fault(400, `API Version String ${version} is of invalid format. Must be of format MajorNum.MinorNum.`)
    : new Fault(
        406,
        `Version ${version} is not supported by the API. Minimum is 2.${MIN_MICROVERSION} and maximum is 2.${MAX_MICROVERSION}.`,
      );
}

function json(status: number, body: unknown): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

function answered({ status = 200, headers = {}, body }: Answer, head: boolean): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined || head ? "" : JSON.stringify(body),
  };
}

function withHeaders(response: ServiceResponse, headers: Readonly<Record<string, string>>): ServiceResponse {
  return {
    ...response,
    headers: { ...response.headers, ...headers },
  };
}

/** What keystonemiddleware answers in front of the API. */
function authenticationRequired(request: ServiceRequest): ServiceResponse {
  const message = "The request you have made requires authentication.";
  const identity = request.baseUrl.replace(/\/compute$/, "/identity");
  return withHeaders(json(401, { error: { code: 401, title: "Unauthorized", message } }), {
    "www-authenticate": `Keystone uri="${identity}"`,
  });
}

/** What the web framework answers for what isn't routed. */
function webobError(status: 404 | 405, method = "", allowed: readonly string[] = []): ServiceResponse {
  const [title, message] =
    status === 404
      ? ["Not Found", "The resource could not be found.<br /><br />\n\n\n"]
      : ["Method Not Allowed", `The method ${method} is not allowed for this resource. <br /><br />\n\n\n`];
  return withHeaders(json(status, { message, code: `${status} ${title}`, title }), {
    ...(status === 405 ? { allow: allowed.join(", ") } : {}),
  });
}
