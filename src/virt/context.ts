import type { TaskState, VmState } from "../records/index.js";
import type { Random } from "../runtime/cryptography.js";
import type { Files } from "../runtime/files.js";
import type { HttpClient } from "../runtime/http.js";
import type { Programs } from "../runtime/processes.js";
import type { Logger } from "../runtime/runtime.js";
import type { Streams } from "../runtime/streams.js";
import type { Clock, Timers } from "../runtime/time.js";
import type { CallOptions, ImageService, Instance, NetworkInfo } from "./types.js";

/** The core's view of the guests' ports on a host; provides drivers with the ports of their guests. */
export interface GuestPorts {
  /** Returns the current ports of the instance. */
  of(instance: Instance, options?: CallOptions): Promise<readonly NetworkInfo[]>;
  /** Reports these ports as connected on this host. Ports that the driver itself has reported are not reported again. */
  connected(instanceUuid: string, ports: readonly NetworkInfo[]): Promise<void>;
}

/**
 * Read access to the state of record for a driver (spec 8.6). Every call queries the conductor; nothing is cached, so the
 * order of the calls is the order of the observations. A call fails if the conductor cannot be reached.
 */
export interface VirtApi {
  /** Returns the uuids of the instances on this host, without deleted ones. */
  instanceUuidsOfHost(options?: CallOptions): Promise<readonly string[]>;
  /** Returns the hosts whose compute service is enabled and up and has a compute node of this `hypervisorType`. */
  liveHosts(hypervisorType: string, options?: CallOptions): Promise<readonly string[]>;
  /** Returns the states of an instance, which other requests may have changed; null if it does not exist or is deleted. */
  instanceStates(uuid: string, options?: CallOptions): Promise<InstanceStates | null>;
  /**
   * Connects the ports of a guest that is being built, as Nova's `wait_for_instance_event` does. Registers for
   * `network-vif-plugged` events of the ports that are not active and runs `plug`. Then reports the ports as connected here,
   * as the agent of a host's bridges does, and waits until the network service has confirmed each of them.
   * @throws {VirtualInterfaceCreateException} the network service reports a failed port, or does not report a port within
   * `vif_plugging_timeout` seconds while `vif_plugging_is_fatal` is set.
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

/** A change of a guest that was made outside the agent (spec 8.5). */
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
 * The interfaces through which a driver reaches the outside world. It must use no others, so that it also runs in virtual
 * time. Each interface is an object: call its methods on it (`context.timers.sleep(100)`), do not detach them.
 */
export interface DriverContext {
  /** `--host` */
  readonly host: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly http: HttpClient;
  readonly files: Files;
  /** Runs programs on this machine. Programs started here outlive the agent. */
  readonly processes: Programs;
  /** Unix and TCP sockets for protocols other than HTTP. */
  readonly sockets: Streams;
  readonly logger: Logger;
  /** The driver's own section of nova.conf, validated by its schema, with names in camelCase. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Options of the agent that inventories depend on (spec 4.7). */
  readonly inventory: InventoryOptions;
  /** Options of `[workarounds]` that concern drivers. */
  readonly workarounds: DriverWorkarounds;
  /**
   * Absolute path of the driver's own folder on this host, for data that must outlive the agent. It is created when the
   * first file is written into it.
   */
  readonly stateFolder: string;
  /** `my_ip` */
  readonly myIp: string;
  /** Reads the host's stable uuid; creates the `compute_id` file if there is none (spec 2.3). */
  localNodeUuid(): Promise<string>;
  /** Read access to the state of record. */
  readonly virtApi: VirtApi;
  /**
   * Registers an interface of the driver's own, such as a client library of its hypervisor. The driver must use the returned
   * object. In an agent that is `adapter` itself; the contract tests inject failures and suspensions into it as they do for
   * the other interfaces. All methods of the adapter must return promises.
   * @param readOnlyMethods names of methods that change nothing.
   */
  ownAdapter<Adapter extends object>(adapter: Adapter, readOnlyMethods?: readonly (keyof Adapter & string)[]): Adapter;
  /** @deprecated The name of `ownAdapter` until release 0.2. */
  readonly ownDoor: DriverContext["ownAdapter"];
  /** Notifies the agent of a guest's change. Never throws. */
  emitEvent(event: LifecycleEvent): void;
}

/** The inputs from which a driver's context is created. */
export type DriverHostDeps = Omit<DriverContext, "emitEvent" | "ownAdapter" | "ownDoor"> & {
  /** The Image service for calls that need images. Without it, those calls throw {@link ImageServiceNotFound}. */
  readonly images?: ImageService;
  /** The source of guests' ports. Without it, guests have no ports. */
  readonly ports?: GuestPorts;
};

export interface DriverWorkarounds {
  /** Names of upstream defects to reproduce; a driver checks for its own. */
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
