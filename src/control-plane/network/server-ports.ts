import type { Json } from "../http/json.js";

/** A port of a server, as Compute, the conductor and the agents see it. */
export interface ServerPort {
  readonly id: string;
  readonly name: string;
  /** The owner, which may be another project than the server's. */
  readonly projectId: string;
  readonly networkId: string;
  readonly networkName: string;
  /** MTU of the network in bytes. */
  readonly mtu: number;
  readonly macAddress: string;
  readonly isAdminStateUp: boolean;
  /** `ACTIVE`: plugged on the host of the active binding. */
  readonly status: "ACTIVE" | "DOWN" | "BUILD" | "ERROR" | "N/A";
  /** The uuid of the server; empty: not attached. */
  readonly deviceId: string;
  /** `compute:nova`; empty: not attached. */
  readonly deviceOwner: string;
  /** `none`: created without addresses; `deferred`: gets them when it is bound. */
  readonly ipAllocation: "immediate" | "deferred" | "none";
  /** In the order of the Network API. */
  readonly fixedIps: readonly FixedIp[];
  readonly floatingIps: readonly FloatingAddress[];
  readonly securityGroupIds: readonly string[];
  readonly isPortSecurityEnabled: boolean;
  /** The user's name for the device in the guest. */
  readonly tag: string | null;
  /** Whether Compute created the port, so that it is deleted with its server. */
  readonly madeForServer: boolean;
  readonly vnicType: string;
  /** The host of the active binding; null: unbound. */
  readonly host: string | null;
  /** `unbound`, `ovs`, `binding_failed` and others. */
  readonly vifType: string;
  readonly vifDetails: Readonly<Record<string, Json>>;
  /** `binding:profile` of the active binding. */
  readonly profile: Readonly<Record<string, Json>>;
  /** All bindings, the active one first. There are two while a server is live-migrated. */
  readonly bindings: readonly ServerPortBinding[];
  /** The hosts on which the port is plugged; a subset of the hosts of its bindings. */
  readonly pluggedOn: readonly string[];
  readonly qosPolicyId: string | null;
  readonly numaAffinityPolicy: string | null;
  readonly deviceProfile: string | null;
}

interface FixedIp {
  readonly subnetId: string;
  readonly address: string;
  readonly version: 4 | 6;
}

export interface FloatingAddress {
  readonly address: string;
  readonly fixedAddress: string;
}

/** A port as a host plugs it. */
interface HostPort {
  readonly id: string;
  readonly macAddress: string;
  readonly networkId: string;
  /** Whether the host has plugged it. */
  readonly isPlugged: boolean;
  /** `ovs`, `binding_failed`, or `unbound` without a binding on the host. */
  readonly vifType: string;
}

export interface ServerPortBinding {
  readonly host: string;
  readonly status: "ACTIVE" | "INACTIVE";
  readonly vifType: string;
  readonly vifDetails: Readonly<Record<string, Json>>;
  readonly profile: Readonly<Record<string, Json>>;
  readonly isPlugged: boolean;
}

/** A network that a server can be attached to. */
export interface ServerNetwork {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly isAdminStateUp: boolean;
  /** Whether an RBAC policy shares it with the project. */
  readonly isShared: boolean;
  readonly isExternal: boolean;
  /** Nova rejects a network without a subnet: `Network ... requires a subnet in order to boot instances on.` */
  readonly hasSubnets: boolean;
  readonly isPortSecurityEnabled: boolean;
  readonly qosPolicyId: string | null;
  readonly mtu: number;
}

/** The server that ports are attached to. */
export interface PortServer {
  readonly uuid: string;
  readonly projectId: string;
  /** The host to bind the ports to; null: none. */
  readonly host: string | null;
  /** Becomes a part of the ports' device owner: `compute:nova`. */
  readonly availabilityZone: string | null;
  /** Becomes the ports' `dns_name`. */
  readonly hostname: string | null;
}

/** A port that a server shall get: an existing one, or a new one on a network. */
export interface RequestedServerPort {
  /** The id of an existing port. */
  readonly port?: string;
  /** The network of a new port. */
  readonly network?: string;
  /** The fixed address of a new port. Default: Neutron's choice. */
  readonly address?: string;
  readonly tag?: string;
  /** `binding:profile`, such as `{ allocation: {...} }`. Default: unchanged. */
  readonly profile?: Readonly<Record<string, Json>>;
}

/** The resources that a port needs of its host, in the form of Neutron's `port-resource-request-groups`. */
export interface PortResourceRequest {
  readonly request_groups: readonly {
    /** Key of the group in `binding:profile.allocation`. */
    readonly id: string;
    /** Traits: `["CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_VNIC_TYPE_NORMAL"]`. */
    readonly required: readonly string[];
    /** `{ NET_BW_EGR_KILOBIT_PER_SEC: 1000 }` */
    readonly resources: Readonly<Record<string, number>>;
  }[];
  readonly same_subtree: readonly string[];
}

/** Resources of ports by provider. */
export type PortResources = Readonly<Record<string, { readonly resources: Readonly<Record<string, number>> }>>;

/**
 * Ports for Compute, the conductor and the agents. Each function is synchronous and belongs to the caller's transaction,
 * so ports and instances change together. No policy restricts it; callers check theirs. Functions that change several
 * ports change all or none. Errors are those of the Network API: `HttpError` with Neutron's exception as `code`.
 * A function that takes a server's uuid does nothing if the server has no ports.
 */
export interface ServerPorts {
  /** Returns the ports of a server as one of its hosts plugs them, with one query. */
  onHost(serverUuid: string, host: string): readonly HostPort[];
  /** Returns the ports of a server in the order of their creation. */
  ofServer(serverUuid: string): readonly ServerPort[];
  /** Returns the ports of many servers with one query for each kind of record. Servers without ports are absent. */
  ofServers(serverUuids: readonly string[]): ReadonlyMap<string, readonly ServerPort[]>;
  get(portId: string): ServerPort | undefined;
  /** Returns the port of a network with a fixed address. */
  withAddress(networkId: string, address: string): ServerPort | undefined;
  /** Whether a network has a subnet that contains the address. */
  isAddressOf(networkId: string, address: string): boolean;
  /** Returns the uuids of the servers whose ports have fixed addresses that contain the text. */
  serversWithAddress(text: string, version: 4 | 6): readonly string[];

  /** Returns the networks from which a server without requested networks gets one: own ones, then shared ones; no external ones. */
  networksFor(projectId: string): readonly ServerNetwork[];
  /** Returns a network that the project owns or sees; with `isAdmin`, any. */
  network(
    networkId: string,
    caller: { readonly projectId: string; readonly isAdmin?: boolean },
  ): ServerNetwork | undefined;

  /**
   * Returns the resources that the QoS policies of ports, or of their networks, request, by the ports' ids. Ports that
   * request nothing are absent.
   * @param serverUuid the owner of the ports; null: none
   * @param portIds further ports
   */
  resourceRequests(serverUuid: string | null, portIds?: readonly string[]): ReadonlyMap<string, PortResourceRequest>;
  /**
   * Returns the resources that ports have on the hosts of their active bindings, as their profiles name the providers.
   * @param serverUuid the owner of the ports; null: none
   * @param portIds further ports
   */
  allocatedResources(serverUuid: string | null, portIds?: readonly string[]): PortResources;
  /**
   * Stores the providers of a host from which a server's ports have resources: `binding:profile` has them as `allocation`
   * while a port has a binding on that host. They remain when the server leaves the host, so that it can return.
   * @param mappings providers by the id of the request group that they satisfy
   * @param portId the only port to change. Default: all of the server
   */
  saveAllocations(
    serverUuid: string,
    host: string,
    mappings: Readonly<Record<string, readonly string[]>>,
    portId?: string,
  ): void;

  /**
   * Creates ports for a server or takes existing ones, and binds them to the server's host. Returns their ids in the order
   * of the requests. A failed binding is no error: `vifType` is `binding_failed`.
   * @param securityGroupIds groups of new ports; empty: the project's group `default`. Ports without port security get none
   * @throws {HttpError} 404 `PortNotFound`, `NetworkNotFound`, `SecurityGroupNotFound`; 409 `PortInUse`,
   * `IpAddressAlreadyAllocated`, `IpAddressGenerationFailure`, `OverQuota`; 400 `InvalidIpForNetwork`,
   * `PortRequiresFixedIP`, `NetworkRequiresSubnet`
   */
  attach(
    server: PortServer,
    requested: readonly RequestedServerPort[],
    securityGroupIds: readonly string[],
  ): readonly string[];
  /** Deletes a port that Compute created; an existing one loses device, tag, `dns_name` and binding. A missing port is no error. */
  detach(portId: string): void;
  /** Detaches all ports of a server. */
  release(serverUuid: string): void;

  /** Replaces the security groups of a port. @throws {HttpError} 404 `SecurityGroupNotFound`; 400 without port security */
  setSecurityGroups(portId: string, securityGroupIds: readonly string[]): void;
  /** Adds an address of a network to one of the server's ports on it; undefined if it has none. @throws {HttpError} 409 */
  addFixedIp(serverUuid: string, networkId: string): ServerPort | undefined;
  /** Removes an address from the server's port that has it; undefined if none has it. */
  removeFixedIp(serverUuid: string, address: string): ServerPort | undefined;

  /**
   * Binds all ports of a server to a host: `binding:host_id` becomes the host. An inactive binding of the host is
   * activated, with its plugged state; other bindings are removed. Ports that are bound to the host already do not change.
   */
  bind(serverUuid: string, host: string): void;
  /**
   * Adds inactive bindings on the destination of a live migration. Ports that have a binding there keep it.
   * @throws {HttpError} 500 `PortBindingError` if the host has no live L2 agent
   */
  addBinding(serverUuid: string, host: string): void;
  /** Makes the host's bindings the active ones; those of the previous host become inactive, and are unplugged. */
  activateBinding(serverUuid: string, host: string): void;
  /** Removes the inactive bindings of a host, after a live migration or a failed one. An active binding remains. */
  removeBinding(serverUuid: string, host: string): void;
  /** Removes host and profile from all bindings, as a shelve offload does. The ports stay attached. */
  unbind(serverUuid: string): void;

  /**
   * Records that a host has plugged ports; returns the ids of those that became plugged there. Reports for ports without a binding
   * on the host are ignored. A port whose active binding is plugged becomes `ACTIVE`. Each port in the result causes
   * the event `network-vif-plugged`.
   */
  plugged(serverUuid: string, host: string, portIds: readonly string[]): readonly string[];
  /** Sets the bridges of a host's physical networks: the segments of these reach the host. null: those of all hosts. */
  setBridges(host: string, bridgeMappings: Readonly<Record<string, string>> | null): void;
  /** Records that a host has unplugged a server's ports, so that the next move to it waits for a new report. */
  unplugged(serverUuid: string, host: string): void;

  /** Returns a project's quota of ports. @returns `limit` -1: none; `used`: its existing ports */
  portLimit(projectId: string): { readonly limit: number; readonly used: number };
}
