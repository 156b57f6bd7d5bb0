import type { HttpMethod } from "./http.js";
import type { Bytes } from "./transfers.js";

/** A request as an embedded service sees it. No sockets: the same handler serves HTTP, in-process clusters and tests. */
export interface ServiceRequest {
  readonly method: HttpMethod | (string & {});
  /** Path below the service's mount point, still percent-encoded, without the query: `/resource_providers/…`; `""` and `/` differ. */
  readonly path: string;
  /** The query string without `?`, still percent-encoded; empty when absent. */
  readonly query: string;
  /** Names in lower case; several values joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw body; empty when there is none. */
  readonly body: string;
  /**
   * The body of a request whose content type is {@link BYTES}, which is not read before it is asked for; what is left unread is
   * dropped. Throws when the client breaks off.
   */
  readonly bytes?: Bytes;
  /** The caller is in this process, and takes records in place of their JSON where the service has them. */
  readonly takesRecords?: boolean;
  /** `http://host:port` plus the service's mount point, as the client addressed it; for absolute links and `location`. */
  readonly baseUrl: string;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent instead of the body, one after the other: what is long need not be joined, and is held for no longer than the client takes. */
  readonly pieces?: readonly string[];
  /** What the body would say, for who takes records: the body is empty then. */
  readonly records?: unknown;
  /** Sent instead of the body; an error breaks the answer off. */
  readonly bytes?: Bytes;
}

/** For those who want the body as one text. */
export function joined({ pieces, ...response }: ServiceResponse): ServiceResponse {
  return pieces === undefined ? response : { ...response, body: pieces.join("") };
}

/** Content type of bodies that are taken as they come. */
export const BYTES = "application/octet-stream";

export type ServiceHandler = (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>;
