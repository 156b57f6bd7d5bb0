/** Clusters for the tests of other projects, published as `compute-agent/cluster`. */
export type {
  AuditFinding,
  CloudCredentials,
  Cluster,
  Faults,
  HostControl,
  HostState,
  LogLine,
  ObservedRequest,
  /** @deprecated The name of ObservedRequest until release 0.2. */
  ObservedRequest as SeenRequest,
  RestoreStateOptions,
  StartClusterOptions,
} from "./cluster.js";
export { startCluster } from "./start-cluster.js";
