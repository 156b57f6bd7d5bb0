import { badRequest, HttpError, tooLarge } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { type RoutedRequest, readJson, ServiceCall } from "../../http/request.js";
import type { RouteResponse } from "../../http/responses.js";
import { type SchemaVersions, schemaFor } from "../../http/schemas.js";
import { parsePythonJson } from "../../python/json.js";
import { findFirstFailure } from "../../python/json-schema.js";
import { pythonStr } from "../../python/repr.js";
import type { BlockStorageContext } from "./block-storage-context.js";
import { isFormat } from "./formats.js";

export type Body = Readonly<Record<string, Json>>;

/** One request to the Block Storage API, after authentication and negotiation. */
export class BlockStorageCall extends ServiceCall {
  readonly context: BlockStorageContext;
  /** Minor of the microversion to respond with. */
  readonly version: number;

  constructor(routed: RoutedRequest, { context, version }: Pick<BlockStorageCall, "context" | "version">) {
    super(routed);
    this.context = context;
    this.version = version;
    this.boundQuery();
  }

  /** Returns the same request at another microversion. */
  at(version: number): BlockStorageCall {
    return new BlockStorageCall(this, { context: this.context, version });
  }

  /** Returns the body as JSON. @throws {HttpError} 400, 413, 415, and 500 for a request without one, as Cinder */
  json(): Body {
    const { body: text } = this.request;
    const body = readJson(text, MESSAGE_LIMITS.nova);
    if (body.kind === "bytes" || body.kind === "members") {
      throw tooLarge("Request is too large.");
    }
    if (body.kind === "empty") {
      throw new HttpError(500, "The server has either erred or is incapable of performing the requested operation.");
    }
    if (!this.hasJsonType) {
      throw new HttpError(415, "Unsupported Content-Type");
    }
    if (body.kind !== "json" || typeof body.value !== "object" || body.value === null || Array.isArray(body.value)) {
      throw badRequest("Malformed request body");
    }
    return body.value as Body;
  }

  /** Returns the body, validated by the schema of the request's microversion. @throws {HttpError} 400, 413, 415 */
  body<T = Body>(schemas: SchemaVersions<T>): T {
    const body = this.json();
    const schema = schemaFor(schemas, this.version);
    const failure = schema && findFirstFailure(schema, parsePythonJson(this.request.body), isFormat);
    if (failure?.cause !== undefined) {
      throw badRequest(failure.cause);
    }
    if (failure !== undefined) {
      const { path, instance, message } = failure;
      throw badRequest(
        path.length === 0
          ? message
          : `Invalid input for field/attribute ${path.at(-1)}. Value: ${pythonStr(instance)}. ${message}`,
      );
    }
    return body as T;
  }

  /** Returns the links of a record. @param path `volumes/{id}` */
  links(path: string): Json {
    const { baseUrl } = this.request;
    const { projectId } = this.context.caller;
    return [
      { rel: "self", href: `${baseUrl}/v3/${projectId}/${path}` },
      { rel: "bookmark", href: `${baseUrl}/${projectId}/${path}` },
    ];
  }
}

export interface BlockStorageRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path below the project's id. */
  readonly path: string;
  /** First minor microversion with this route. Others respond with 404. */
  readonly from?: number;
  /** The schemas of its body, which its handler applies. */
  readonly body?: SchemaVersions<unknown>;
  /** Its actions by their names in bodies, with their first minor microversions. */
  readonly actions?: Readonly<Record<string, { readonly from?: number }>>;
  /** The fault point that the request passes before its changes. */
  readonly fault?: string;
  /** Runs in a transaction, unless it only reads. An error that it returns keeps its changes; a thrown one undoes them. */
  readonly handle: (call: BlockStorageCall) => RouteResponse | HttpError | undefined;
}
