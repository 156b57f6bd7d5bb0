import type { TaskState, VmState } from "../records/index.js";
import type { Random } from "../runtime/cryptography.js";
import type { Files } from "../runtime/files.js";
import type { HttpClient } from "../runtime/http.js";
import type { Programs } from "../runtime/processes.js";
import type { Logger } from "../runtime/runtime.js";
import type { Streams } from "../runtime/streams.js";
import type { Clock, Timers } from "../runtime/time.js";
import type { CallOptions, ImageService, Instance, NetworkInfo } from "./types.js";

/** What the core knows of the network of a host's guests; it gives drivers their guests' ports. */
export interface GuestPorts {
  /** The instance's ports, as they are now. */
  of(instance: Instance, options?: CallOptions): Promise<readonly NetworkInfo[]>;
  /** The ports are connected here; what a driver has said of them itself is not said again. */
  connected(instanceUuid: string, ports: readonly NetworkInfo[]): Promise<void>;
}

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

export type LifecycleTransition = (typeof LIFECYCLE_TRANSITIONS)[number];

/** Something happened to a guest outside of the agent (spec 8.5). */
export interface LifecycleEvent {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly uuid: string;
  readonly name: string;
  readonly transition: LifecycleTransition;
}

export const LIFECYCLE_TRANSITIONS = [
  "started",
  "stopped",
  "paused",
  "resumed",
  "suspended",
  "postcopy_started",
  "migration_completed",
] as const;

/**
 * A driver's doors to the world: it uses no others, so that it runs in virtual time too. Each door is an object: call its methods on it
 * (`context.timers.sleep(100)`), and do not take them off it.
 */
export interface DriverContext {
  /** `--host` */
  readonly host: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly http: HttpClient;
  readonly files: Files;
  /** Programs of the machine: what is started here outlives the agent. */
  readonly processes: Programs;
  /** Unix and TCP sockets that speak no HTTP. */
  readonly sockets: Streams;
  readonly logger: Logger;
  /** The driver's own section of nova.conf, validated by its schema, names in camelCase. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Options of the agent that inventories depend on (spec 4.7). */
  readonly inventory: InventoryOptions;
  /** `[workarounds]` that concern drivers. */
  readonly workarounds: DriverWorkarounds;
  /**
   * Absolute folder of this host that is the driver's own, for what must outlive the agent; made when a file is first
   * written into it.
   */
  readonly stateFolder: string;
  /** `my_ip` */
  readonly myIp: string;
  /** Reads the host's stable uuid, making the `compute_id` file when there is none (spec 2.3). */
  localNodeUuid(): Promise<string>;
  /** What the driver may read of the state of record. */
  readonly virtApi: VirtApi;
  /**
   * Registers a door of the driver's own (a library that speaks to its hypervisor): the driver uses what is returned. In an
   * agent that is the door itself; the contract's tests break it and suspend it as they do the others. All of its methods
   * return promises.
   * @param readOnlyMethods names of methods that change nothing.
   */
  ownAdapter<Adapter extends object>(adapter: Adapter, readOnlyMethods?: readonly (keyof Adapter & string)[]): Adapter;
  /** @deprecated The name of `ownAdapter` until release 0.2. */
  readonly ownDoor: DriverContext["ownAdapter"];
  /** Tells the agent what happened to a guest. Never throws. */
  emitEvent(event: LifecycleEvent): void;
}

/** What a driver's context is made of, before the driver is. */
export type DriverHostDeps = Omit<DriverContext, "emitEvent" | "ownAdapter" | "ownDoor"> & {
  /** What calls about images are lent; left out: there is no Image service. */
  readonly images?: ImageService;
  /** Where guests' ports are found; left out: no guest has any. */
  readonly ports?: GuestPorts;
};

export interface DriverWorkarounds {
  /** Names of upstream's defects that are to be followed; a driver looks for its own. */
  readonly upstreamQuirks: ReadonlySet<string>;
  readonly skipReserveInUseIronicNodes: boolean;
}

export interface InventoryOptions {
  /** null: unset. */
  readonly cpuAllocationRatio: number | null;
  readonly ramAllocationRatio: number | null;
  readonly diskAllocationRatio: number | null;
  readonly initialCpuAllocationRatio: number;
  readonly initialRamAllocationRatio: number;
  readonly initialDiskAllocationRatio: number;
  readonly reservedHostCpus: number;
  /** MB */
  readonly reservedHostMemoryMb: number;
  /** MB */
  readonly reservedHostDiskMb: number;
}
