import type { ServiceRequest } from "../runtime/service.js";

/**
 * Whether a request waits until what agents say is answered. They ask Placement themselves in the middle of their work, for one record
 * at a time, and change what is there and in Ironic; the rest is asked by people.
 */
export function isLowPriority({ method, path }: Pick<ServiceRequest, "method" | "path">, mount: string): boolean {
  switch (mount) {
    case "/placement":
      return method === "GET" && !ONE_RECORD.test(path);
    case "/baremetal":
      return method === "GET";
    default:
      return true;
  }
}

/** `/allocations/{consumer}`, `/resource_providers/{provider}/inventories` ..., not a list. */
const ONE_RECORD = /^\/[^/]+\/[^/]/;
