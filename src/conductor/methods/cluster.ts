import { name, nullable } from "../../records/field.js";
import type { Instance } from "../../records/index.js";
import { trusted, waits } from "./method.js";

/** What `compute-cluster down` and `wait` ask: the cluster as a whole. */
export const CLUSTER_METHODS = {
  /**
   * Stops everything that `compute-cluster up` has started, and then `up` itself, which is told before it is answered.
   * @throws ConductorError no `up` has started this control plane.
   */
  stop_cluster: waits({}, trusted<{ readonly pid: number }>()),
  /**
   * Has everything that `compute-cluster up` has started stop, puts a saved state in its place, and starts it again; it is answered
   * before, with the pid of `up`. Null: the state after its start.
   * @throws ConductorError there is no such snapshot, or no `up` has started this control plane.
   */
  restore_cluster: waits({ snapshot: nullable(name) }, trusted<{ readonly pid: number }>()),
  /** What is still being done, as far as the state of record knows it. */
  cluster_work: waits({}, trusted<ClusterWork>()),
};

export interface ClusterWork {
  /** What the conductor has to do yet. */
  readonly tasks: number;
  /** Messages that an agent that is there has not taken yet. */
  readonly messages: number;
  /** The first servers that something is being done to. */
  readonly servers: readonly (Pick<Instance, "uuid" | "displayName"> & { readonly taskState: string })[];
  /** The first moves that have neither ended nor wait for their confirmation, with their server. */
  readonly moves: readonly { readonly type: string; readonly status: string; readonly instanceUuid: string }[];
}
