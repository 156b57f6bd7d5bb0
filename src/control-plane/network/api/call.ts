import { ConductorError } from "../../../conductor-client/errors.js";
import { isObject } from "../../../runtime/collections.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import type { Credentials } from "../../credentials.js";
import type { EventLoopTicks } from "../../event-loop.js";
import { badRequest, HttpError, tooLarge } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { MAX_QUERY_PARAMETERS } from "../../http/listener-limits.js";
import { type RoutedRequest, readJson, ServiceCall } from "../../http/request.js";
import { json } from "../../http/responses.js";
import { type Check, parseRule } from "../../policy/rule-parser.js";
import type { Store } from "../../store/store.js";

/** Names of Neutron's exceptions for errors without a code. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "HTTPBadRequest",
  404: "HTTPNotFound",
  405: "HTTPMethodNotAllowed",
  413: "HTTPRequestEntityTooLarge",
};

/** Renders an error as Neutron does. */
export function renderNetworkError({ status, code, message }: HttpError): ServiceResponse {
  const type = code ?? ERROR_TYPES[status] ?? "HTTPInternalServerError";
  return json(status, { NeutronError: { type, message, detail: "" } });
}

/** Statuses of the store's errors, by the name of Neutron's exception. */
const REJECTION_STATUSES: Readonly<Record<string, number>> = {
  SecurityGroupDefaultAlreadyExists: 409,
  SecurityGroupInUse: 409,
  PortNotFound: 404,
  PortInUse: 409,
  InvalidIpForNetwork: 400,
  IpAddressAlreadyAllocated: 409,
  IpAddressGenerationFailure: 409,
};

/** One request to the Network API, after authentication. */
export class NetworkCall extends ServiceCall {
  readonly caller: Credentials;
  readonly store: Store;
  /** Yields to other requests during long work. */
  readonly ticks: EventLoopTicks;

  constructor(routed: RoutedRequest, context: Pick<NetworkCall, "caller" | "store" | "ticks">) {
    super(routed);
    this.caller = context.caller;
    this.store = context.store;
    this.ticks = context.ticks;
    if (this.query.entries.length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${this.query.entries.length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
  }

  get isAdmin(): boolean {
    return this.caller.roles.includes("admin");
  }

  /** The project whose resources a list contains; undefined for all projects. */
  get listedProject(): string | undefined {
    return this.isAdmin ? undefined : (this.caller.projectId ?? "");
  }

  /** @throws {HttpError} 400, 413 */
  body(): Readonly<Record<string, unknown>> {
    const body = readJson(this.request);
    if (body.kind === "too-large") {
      throw tooLarge("Request is too large.");
    }
    if (body.kind !== "json" || !isObject(body.value)) {
      throw badRequest("Body required: expected a JSON object as the body of the request.");
    }
    return body.value;
  }
}

export interface NetworkResponse {
  /** Default 200. */
  readonly status?: number;
  readonly body?: Json;
}

export interface NetworkRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly handle: (call: NetworkCall) => NetworkResponse | Promise<NetworkResponse>;
}

export function invalidInput(name: string, reason: string): HttpError {
  return badRequest(`Invalid input for ${name}. Reason: ${reason}`);
}

/** Converts an error of the store; returns undefined if it is not caused by the client. */
export function networkFault(error: unknown): HttpError | undefined {
  const status = error instanceof ConductorError ? REJECTION_STATUSES[error.name] : undefined;
  return error instanceof Error && status !== undefined
    ? new HttpError(status, error.message, { code: error.name })
    : undefined;
}

const OWNER = "project_id:%(project_id)s";

const READER = `rule:admin or ((role:reader or role:member) and ${OWNER})`;

const MEMBER = `rule:admin or (role:member and ${OWNER})`;

/**
 * Neutron's default policies, as far as this API uses them. The addresses of the shared network are readable by all
 * users.
 */
const DEFAULT_RULES = {
  admin: "role:admin",
  get_network: "@",
  "get_network:provider": "rule:admin",
  create_network: MEMBER,
  update_network: MEMBER,
  delete_network: MEMBER,
  get_subnet: "@",
  create_subnet: MEMBER,
  update_subnet: MEMBER,
  delete_subnet: MEMBER,
  get_port: READER,
  "get_port:binding": "rule:admin or role:service",
  create_port: MEMBER,
  "create_port:mac_address": "rule:admin or role:service",
  update_port: MEMBER,
  "update_port:mac_address": "rule:admin or role:service",
  delete_port: MEMBER,
  get_security_group: READER,
  create_security_group: MEMBER,
  update_security_group: MEMBER,
  delete_security_group: MEMBER,
  get_security_group_rule: READER,
  create_security_group_rule: MEMBER,
  delete_security_group_rule: MEMBER,
  get_network_ip_availability: "rule:admin",
  get_auto_allocated_topology: READER,
  delete_auto_allocated_topology: MEMBER,
  get_quota: `rule:admin or ${OWNER}`,
  update_quota: "rule:admin",
  delete_quota: "rule:admin",
} as const satisfies Readonly<Record<string, string>>;

export type RuleName = keyof typeof DEFAULT_RULES;

const CHECKS: ReadonlyMap<string, Check> = new Map(
  Object.entries(DEFAULT_RULES).map(([name, rule]) => [name, parseRule(rule)]),
);

/** @param projectId the project that owns the resource */
export function may({ projectId: own, roles }: Credentials, name: RuleName, projectId?: string): boolean {
  const attributes = {
    credentials: own === null ? {} : { project_id: own },
    roles: new Set(roles),
    target: projectId === undefined ? {} : { project_id: projectId },
    rule: (other: string): boolean => CHECKS.get(other)?.(attributes) ?? false,
  };
  return attributes.rule(name);
}

/** @throws {HttpError} 403 */
export function enforce(caller: Credentials, name: RuleName, projectId?: string): void {
  if (!may(caller, name, projectId)) {
    throw new HttpError(403, `rule:${name} is disallowed by policy`, { code: "PolicyNotAuthorized" });
  }
}
