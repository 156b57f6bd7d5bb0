import type { TaskState, VmState } from "../records/index.js";
import type { CallOptions, NetworkInfo } from "./types.js";

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
  /**
   * Nova's `wait_for_instance_event`, for the ports of a guest that is being made: registers for `network-vif-plugged` of those
   * that are not active, runs `plug`, says that they are connected here, as the agent of a host's bridges does, and waits
   * until the network service has said so of each.
   * @throws {VirtualInterfaceCreateException} it says that one failed, or says nothing for `vif_plugging_timeout` seconds while
   * `vif_plugging_is_fatal`
   */
  waitForVifs(
    uuid: string,
    ports: readonly NetworkInfo[],
    plug: () => Promise<void>,
    options?: CallOptions,
  ): Promise<void>;
}

export interface InstanceStates {
  readonly vmState: VmState;
  readonly taskState: TaskState | null;
}
