import { asArray, asRecord, parseJson } from "../../placement-client/json.js";
import type { HttpMethod, HttpResponse } from "../../runtime/http.js";
import { AuditError } from "../errors.js";
import type { ServiceType } from "./cloud-config.js";

/** Sends an authenticated request to a service of the cloud. @throws {AuditError} there is no response, or 401 twice */
export type Send = (service: ServiceType, request: ServiceRequest) => Promise<HttpResponse>;

export interface ServiceRequest {
  readonly method: HttpMethod;
  /** Relative to the endpoint. */
  readonly path: string;
  /** Minor of the microversion. */
  readonly version?: number;
  readonly body?: unknown;
}

export interface Options {
  readonly version?: number;
  readonly body?: unknown;
}

/** One service of a cloud, at the negotiated microversion. */
export class ServiceClient {
  readonly type: ServiceType;
  /** Minor of the newest microversion in use. */
  readonly version: number;
  readonly #send: Send;

  constructor(type: ServiceType, version: number, send: Send) {
    this.type = type;
    this.version = version;
    this.#send = send;
  }

  /** Returns the response, which may have any status but 401. */
  request(method: HttpMethod, path: string, { version = this.version, body }: Options = {}): Promise<HttpResponse> {
    return this.#send(this.type, { method, path, version, ...(body === undefined ? {} : { body }) });
  }

  /** Returns the body of a successful response. @throws {AuditError} */
  async get(path: string, options: Options = {}): Promise<Readonly<Record<string, unknown>>> {
    return bodyOf(this.type, path, await this.request("GET", path, options));
  }

  /** Like {@link get}, but returns undefined for 404. */
  async find(path: string, options: Options = {}): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.request("GET", path, options);
    return response.status === 404 ? undefined : bodyOf(this.type, path, response);
  }
}

function bodyOf(service: string, path: string, { status, body }: HttpResponse): Readonly<Record<string, unknown>> {
  if (status >= 300) {
    const advice = status === 403 ? "; the credentials lack a role: the audit reads all projects and needs admin" : "";
    const message = `GET ${path} at the ${service} service responded ${status}${detail(body)}${advice}`;
    throw new AuditError("CloudRefused", message, { status });
  }
  try {
    return asRecord(parseJson(body));
  } catch (error) {
    throw new AuditError("UnexpectedAnswer", `the response to GET ${path} is not from a ${service} service`, {
      cause: error,
    });
  }
}

/** Returns the error message in the body, on one line. */
export function detail(body: string): string {
  try {
    const record = asRecord(JSON.parse(body));
    const error = asRecord(record.errors === undefined ? Object.values(record)[0] : asArray(record.errors)[0]);
    // Neutron's errors have an empty detail.
    return `: ${String(error.detail || error.message)
      .replace(/\s+/g, " ")
      .trim()}`;
  } catch {
    return "";
  }
}
