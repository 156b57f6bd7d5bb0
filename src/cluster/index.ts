/** A cluster for the tests of others: published as `compute-agent/cluster`. */
export type {
  AuditFinding,
  Cluster,
  Faults,
  HostControl,
  HostState,
  LogLine,
  RestoreStateOptions,
  ObservedRequest as SeenRequest,
  StartClusterOptions,
} from "./cluster.js";
export { startCluster } from "./start-cluster.js";
