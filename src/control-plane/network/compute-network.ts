import type { ServiceHandler } from "../../runtime/http-server.js";
import type { ServerPorts } from "./server-ports.js";

/** A security group, as Compute names it. */
export interface NamedGroup {
  readonly id: string;
  readonly name: string;
}

/** The Network service as Compute uses it: the embedded one in the same process. */
export interface ComputeNetwork {
  readonly ports: ServerPorts;
  readonly securityGroups: {
    /** Returns the groups of a project with this id or name; several can have one name. Creates a missing `default`. */
    readonly find: (projectId: string, nameOrId: string) => readonly NamedGroup[];
    /** Returns the names of groups by id; missing groups are absent. */
    readonly names: (ids: readonly string[]) => ReadonlyMap<string, string>;
  };
  /**
   * Returns the network of a project's auto-allocated topology, which it creates at first use.
   * @throws {HttpError} 409, 503
   */
  readonly autoAllocate: (projectId: string) => string;
  /** The Network API, for Nova's proxies: they send a user's request with the user's token. */
  readonly handle: ServiceHandler;
}
