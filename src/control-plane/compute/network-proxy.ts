import { HttpError } from "../http/http-error.js";
import { atOnce } from "../http/request.js";
import type { Call } from "./api/call.js";

/** Last minor microversion with proxies of the Network API. */
export const LAST_PROXY = 35;

/** A record as the Network API renders it. */
export type NetworkRecord = Readonly<Record<string, unknown>> & { readonly id: string };

interface NetworkRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path below `/v2.0`: `/floatingips`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/**
 * Sends a request to the Network API with the caller's token, so that its policies apply.
 * @returns the value of the body's only key: a record, or a list of records
 * @throws {HttpError} the Network API's error, with Neutron's exception as `code`
 */
export async function requestNetwork<T = NetworkRecord>(call: Call, request: NetworkRequest): Promise<T> {
  const { method, path, query = {}, body } = request;
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of typeof values === "string" ? [values] : values) {
      parameters.append(name, value);
    }
  }
  const response = await call.deps.network.handle({
    method,
    path: `/v2.0${path}`,
    query: parameters.toString(),
    headers: { "x-auth-token": call.request.headers["x-auth-token"] ?? "", "content-type": "application/json" },
    body: body === undefined ? "" : JSON.stringify(body),
    baseUrl: call.request.baseUrl.replace(/\/compute$/, "/network"),
  });
  return atOnce(response.pieces === undefined ? response.body : response.pieces.join(""), (text) => {
    const json: unknown = text === "" ? {} : JSON.parse(text);
    if (response.status >= 300) {
      throw toHttpError(response.status, json);
    }
    return Object.values(json as Readonly<Record<string, T>>)[0] as T;
  });
}

/** Like {@link requestNetwork}; undefined if there is no such record. */
export async function findNetworkRecord(call: Call, path: string): Promise<NetworkRecord | undefined> {
  try {
    return await requestNetwork(call, { method: "GET", path });
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) {
      return undefined;
    }
    throw error;
  }
}

function toHttpError(status: number, body: unknown): HttpError {
  const { NeutronError: error } = body as {
    readonly NeutronError?: { readonly type: string; readonly message: string };
  };
  return new HttpError(status, error?.message ?? `The Network API failed with status ${status}.`, {
    code: error?.type,
  });
}
