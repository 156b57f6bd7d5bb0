export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent: string | null;
  readonly root: string;
  /** Host of the root provider's compute node; null if there is none. */
  readonly host: string | null;
  /** By resource class. */
  readonly inventory: Readonly<Record<string, InventoryRow>>;
  /** Key of a row of `traits`. */
  readonly traits: string;
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly total: number;
  readonly reserved: number;
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** Used amount by type of consumer. */
  readonly used: Readonly<Record<ConsumerType, number>>;
}

/** `stale`: neither an existing server nor a move in progress. */
export type ConsumerType = "server" | "migration" | "stale";

export interface ConsumerRow {
  readonly uuid: string;
  readonly type: ConsumerType;
  /** The consumer itself, or the server that its migration moves; null if unknown. */
  readonly server: string | null;
  /** Placement's consumer type: `INSTANCE`, `MIGRATION` … */
  readonly placementType: string | null;
  readonly generation: number;
  readonly projectId: string;
  readonly userId: string;
  /** Provider → resource class → amount. */
  readonly held: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface ServerRow {
  readonly uuid: string;
  readonly name: string;
  /** The Compute API's status: `ACTIVE`, `VERIFY_RESIZE` … */
  readonly status: string;
  readonly vmState: string;
  readonly taskState: string | null;
  /** Last recorded power state: `running`, `shutdown` … */
  readonly power: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly flavor: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  readonly projectId: string;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  /** Message of the latest fault of a server in error. */
  readonly fault: string | null;
  /** The request that set the task state. */
  readonly requestId: string | null;
}

export interface MigrationRow {
  readonly uuid: string;
  readonly id: number;
  readonly server: string;
  readonly type: "migration" | "resize" | "live-migration" | "evacuation";
  readonly status: string;
  readonly source: string | null;
  readonly dest: string | null;
  readonly oldFlavor: string | null;
  readonly newFlavor: string | null;
  /** Percent of the memory that a live migration has transferred; null if not reported. */
  readonly progress: number | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export interface LatestAction {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly message: string | null;
  /** The latest event of the action. */
  readonly event: EventRow | null;
}

export interface EventRow {
  /** `compute__do_build_and_run_instance` … */
  readonly event: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly result: "Success" | "Error" | null;
  readonly host: string | null;
  readonly details: string | null;
}

/** The history of a server, deleted ones included. All lists are oldest first. */
export interface ServerLife {
  readonly server: ServerRow;
  readonly deletedAt: number | null;
  readonly actions: readonly ActionRow[];
  /** All migrations, including those that have ended. */
  readonly migrations: readonly MigrationRow[];
  readonly faults: readonly { readonly at: number; readonly message: string; readonly host: string | null }[];
  /**
   * The hosts that had the server, by the records of its moves. `to` is null if the server is still there or the end is
   * unknown.
   */
  readonly hosts: readonly { readonly host: string; readonly from: number; readonly to: number | null }[];
  /** Current allocations of the server and its moves. */
  readonly consumers: readonly ConsumerRow[];
  /** Changes of these allocations, recorded only while a viewer was connected. An empty `held` means no allocations. */
  readonly history: readonly { readonly at: number; readonly consumer: ConsumerRow }[];
  /** States of the server, recorded only while a viewer was connected. */
  readonly states: readonly StateRow[];
  /** Time since which states and allocations have been recorded; null if they are not. */
  readonly observedSince: number | null;
}

export interface StateRow {
  readonly at: number;
  readonly vmState: string;
  readonly taskState: string | null;
  readonly host: string | null;
  readonly requestId: string | null;
}

export interface ActionRow {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  /** `Error` if one of its events failed. */
  readonly message: string | null;
  readonly events: readonly EventRow[];
}

export interface HostRow {
  readonly host: string;
  readonly state: "up" | "down";
  /**
   * Whether the host has a compute service. If not, it has never served: its agent refused to start, failed, or is
   * starting for the first time.
   */
  readonly registered: boolean;
  readonly enabled: boolean;
  /** Why the host is disabled, or how its agent ended; "" if neither applies. */
  readonly reason: string;
  readonly forcedDown: boolean;
  /**
   * State of its agent's process as in `compute-agent host list`, or `refused` if it refused to start because records
   * contradict each other. Null if no known process controls the host.
   */
  readonly agent:
    | "starting"
    | "serving"
    | "stopping"
    | "stopped"
    | "failed"
    | "refused"
    | "killed"
    | "waiting"
    | "restarting"
    | null;
  readonly zone: string;
  readonly aggregates: readonly string[];
  /** Uuids of its compute nodes, which are also those of their root providers; at most 100. */
  readonly nodes: readonly string[];
  /** Faults that are set, such as `driver.spawn=fail:once`. */
  readonly faults: readonly string[];
  /** Version of the service (0 without one), and the name of its release. */
  readonly version: number;
  readonly release: string | null;
}

export interface NetworkRow {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  readonly status: string;
  readonly adminUp: boolean;
  readonly mtu: number;
  readonly external: boolean;
  /** All projects may use it. */
  readonly shared: boolean;
  /** `vxlan 3`, `vlan physnet1 107` */
  readonly segments: readonly string[];
  readonly subnets: readonly SubnetRow[];
}

export interface SubnetRow {
  readonly uuid: string;
  readonly name: string;
  readonly cidr: string;
  readonly gateway: string | null;
  readonly dhcp: boolean;
}

export interface RouterRow {
  readonly uuid: string;
  readonly name: string;
  readonly projectId: string;
  readonly status: string;
  readonly adminUp: boolean;
  readonly gateways: readonly RouterEnd[];
  readonly interfaces: readonly RouterEnd[];
}

/** An address of a router on a network. */
export interface RouterEnd {
  readonly network: string;
  readonly address: string;
}

export interface PortRow {
  readonly uuid: string;
  readonly name: string;
  readonly network: string;
  readonly mac: string;
  readonly adminUp: boolean;
  /** `ACTIVE`, `DOWN`, `BUILD`, `ERROR` or `N/A`. */
  readonly status: string;
  /** The server of the port; null for a free port, and for those of routers and other devices. */
  readonly server: string | null;
  /** `compute:nova`, `network:router_interface` … */
  readonly owner: string;
  /** Id of the device. */
  readonly device: string;
  readonly addresses: readonly string[];
  readonly floatingIps: readonly string[];
  /** A port in a live migration has an inactive one on the destination. Empty for an unbound port. */
  readonly bindings: readonly BindingRow[];
}

export interface BindingRow {
  readonly host: string;
  /** `ovs`, or `binding_failed` if no L2 agent was alive on the host. */
  readonly vifType: string;
  readonly active: boolean;
}

export interface GuestsRow {
  /** When the guests were read. */
  readonly at: number;
  /** `folder`: read from a fake-libvirt hypervisor's folder, even if no agent runs; `agent`: reported by the agent. */
  readonly from: "folder" | "agent";
  readonly guests: readonly GuestRow[];
}

export interface GuestRow {
  readonly uuid: string;
  readonly name: string;
  /** `running`, `shut off`, `paused` … */
  readonly state: string;
}

export interface RequestRow {
  readonly id: string;
  readonly at: number;
  /** `compute-api`, `placement` …; `other` if no service handled it. */
  readonly service: string;
  readonly method: string;
  /** Includes the query; secrets are hidden. */
  readonly path: string;
  readonly status: number;
  readonly ms: number | null;
  readonly requestId: string | null;
  /** The request on whose behalf this one was made. */
  readonly globalRequestId: string | null;
  readonly user: string | null;
  readonly project: string | null;
  readonly hasBody: boolean;
  /** The first uuids in the request and the response: of servers, providers and other objects. */
  readonly about: readonly string[];
}

/** The bodies of a request, with secrets hidden. */
export interface RequestBodies extends RequestRow {
  /** Indented JSON; null if the body is absent, too long or not JSON. */
  readonly body: string | null;
  readonly answer: string | null;
}

export interface FindingRow {
  /**
   * `stale-guest`, `guest-without-server`, `server-without-guest`, `stale-allocation`, `missing-allocation` or
   * `doubled-allocation`.
   */
  readonly code: string;
  /** The contradiction, with the names of the objects. */
  readonly text: string;
  /** The meaning of the finding, and how it is repaired. */
  readonly explanation: string;
  /** Command lines that repair it, in order; empty if none does. */
  readonly commands: readonly string[];
  /** The objects at which the page displays the finding; null if it does not concern one. */
  readonly host: string | null;
  readonly server: string | null;
  readonly consumer: string | null;
  readonly provider: string | null;
}

/**
 * An edit of the plan that the action `audit` has written. The actions `apply` and `undo` do and undo this edit alone.
 */
export interface EditRow {
  /** Codes of the findings of `compute-agent audit` that the edit removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  /** One line that describes the edit. */
  readonly does: string;
  /** The changed consumer or provider, by which the edit can be selected. */
  readonly subject: string;
}
