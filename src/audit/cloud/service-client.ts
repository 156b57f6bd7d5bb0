import { asArray, asRecord, parseJson } from "../../placement-client/json.js";
import type { HttpMethod, HttpResponse } from "../../runtime/http.js";
import type { ServiceType } from "./cloud-config.js";
import { CloudRefused, UnexpectedAnswer } from "./errors.js";

/** Sends one request to a service of the cloud, with a token. @throws {CloudError} nothing answered, or 401 twice */
export type Send = (service: ServiceType, request: ServiceRequest) => Promise<HttpResponse>;

export interface ServiceRequest {
  readonly method: HttpMethod;
  /** Below the endpoint. */
  readonly path: string;
  /** Minor of the microversion. */
  readonly version?: number;
  readonly body?: unknown;
}

export interface Options {
  readonly version?: number;
  readonly body?: unknown;
}

/** One service of a cloud, at the microversion that was agreed on. */
export class ServiceClient {
  readonly type: ServiceType;
  /** Minor of the newest microversion that is used. */
  readonly version: number;
  readonly #send: Send;

  constructor(type: ServiceType, version: number, send: Send) {
    this.type = type;
    this.version = version;
    this.#send = send;
  }

  /** The answer of any status but 401. */
  request(method: HttpMethod, path: string, { version = this.version, body }: Options = {}): Promise<HttpResponse> {
    return this.#send(this.type, { method, path, version, ...(body === undefined ? {} : { body }) });
  }

  /** The body of a success. @throws {CloudError} */
  async get(path: string, options: Options = {}): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.request("GET", path, options);
    if (answer.status >= 300) {
      throw refusal(this.type, "GET", path, answer);
    }
    return bodyOf(this.type, path, answer);
  }

  /** As {@link get}; undefined for 404. */
  async find(path: string, options: Options = {}): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await this.request("GET", path, options);
    if (answer.status === 404) {
      return undefined;
    }
    if (answer.status >= 300) {
      throw refusal(this.type, "GET", path, answer);
    }
    return bodyOf(this.type, path, answer);
  }
}

function bodyOf(service: string, path: string, { body }: HttpResponse): Readonly<Record<string, unknown>> {
  try {
    return asRecord(parseJson(body));
  } catch (error) {
    throw new UnexpectedAnswer(`GET ${path} was not answered by a ${service} service`, { cause: error });
  }
}

function refusal(service: ServiceType, method: string, path: string, answer: HttpResponse): CloudRefused {
  const said = `${method} ${path} at the ${service} service answered ${answer.status}${detail(answer.body)}`;
  const advice =
    answer.status === 403 ? "; the credentials lack a role: the audit reads all projects and needs admin" : "";
  return new CloudRefused(answer.status, said + advice);
}

/** What the service says of it, on one line. */
export function detail(body: string): string {
  try {
    const record = asRecord(JSON.parse(body));
    const error = asRecord(record.errors === undefined ? Object.values(record)[0] : asArray(record.errors)[0]);
    return `: ${String(error.detail ?? error.message)
      .replace(/\s+/g, " ")
      .trim()}`;
  } catch {
    return "";
  }
}
