import type { TaskState, VmState } from "../records/index.js";
import type { CallOptions } from "./types.js";

/**
 * What a driver may ask of the state of record (spec 8.6). Each call asks anew: nothing is remembered, so the order of
 * calls is the order in which the world was looked at. Calls fail when the conductor cannot be asked.
 */
export interface VirtApi {
  /** Uuids of the instances that this host has, deleted ones left out. */
  instanceUuidsOfHost(options?: CallOptions): Promise<readonly string[]>;
  /** Hosts of the compute services that are enabled and up and have a compute node of this `hypervisorType`. */
  liveHosts(hypervisorType: string, options?: CallOptions): Promise<readonly string[]>;
  /** What other requests may have changed of an instance meanwhile; null: it is not there, or deleted. */
  instanceStates(uuid: string, options?: CallOptions): Promise<InstanceStates | null>;
}

export interface InstanceStates {
  readonly vmState: VmState;
  readonly taskState: TaskState | null;
}
