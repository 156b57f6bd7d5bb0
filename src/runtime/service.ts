import type { HttpMethod } from "./http.js";

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
  /** `http://host:port` plus the service's mount point, as the client addressed it; for absolute links and `location`. */
  readonly baseUrl: string;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type ServiceHandler = (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>;
