import { hostName, id, LONG, listOf, mapOf, name, nullable, object, text, uuid } from "../../records/field.js";
import { type AllocationsByProvider, DESTINATION_FAILURE, FLAVOR, RETRY_INFO, SELECTION } from "../../records/index.js";
import { CLUSTER_METHODS } from "./cluster.js";
import { type MethodsOf, nothing, reads, sets, trusted, waits, writes } from "./method.js";
import { RECORD_METHODS } from "./records.js";
import { HOST_METHODS, type LeaseHolder } from "./session.js";

export interface HostAggregate {
  readonly uuid: string;
  readonly name: string;
  readonly hosts: readonly string[];
}

/** Maximum number of consumers per call of `consumers_under_way`. */
export const MAX_CONSUMERS = 5_000;

/** Methods of `compute-agent manage`: what nova-manage reads and writes in Nova's databases (spec 7.3 to 7.6). */
export const OPERATOR_METHODS = {
  /** Returns the cell of an instance, even of a deleted one; null if it has none. */
  instance_mapping: reads({ uuid: name }, trusted<"cell0" | "cell1" | null>()),
  /** Returns the uuids of all instances in cell1 that are not deleted, oldest first. */
  instances_of_cell: reads({}, trusted<string[]>()),
  /** Returns the resources that the ports of an instance have on its host, by provider. */
  port_allocations: reads({ uuid: name }, trusted<AllocationsByProvider>()),
  /**
   * Returns those of the consumers that are instances being built, moved or changed, or migrations that run or have just
   * ended: their allocations are expected to become consistent (7.4 OPT).
   */
  consumers_under_way: reads({ uuids: listOf(name, MAX_CONSUMERS) }, trusted<string[]>()),
  host_aggregates: reads({}, trusted<HostAggregate[]>()),
  /** Returns whether the host is mapped to a cell. */
  host_mapping: reads({ host: hostName }, trusted<boolean>()),
  /**
   * Moves a node, with its instance, to another service (7.6). @throws ComputeHostNotFound, ServiceNotFound, ConductorError
   */
  ironic_compute_node_move: writes({ node: name, host: hostName }, nothing),
};

/** One kind of migration: the number of records that needed it, and the number migrated by this call. */
export interface OnlineDataMigration {
  readonly name: string;
  readonly needed: number;
  readonly completed: number;
}

/** A port of an instance. */
export interface NetworkPort {
  readonly id: string;
  /** MAC address. */
  readonly address: string;
  /** Uuid. */
  readonly network: string;
  /** Whether the port is connected on the calling host. */
  readonly active: boolean;
  /** `binding:vif_type` on the calling host. Absent: an older control plane. */
  readonly vifType?: string;
}

export interface PlacementAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/** Hosts that may still be tried. */
const alternates = listOf(object(SELECTION));

/** Hosts that have been tried. */
const retry = object(RETRY_INFO);

/** Methods that give work to the conductor, or return something other than records. */
export const WORK_METHODS = {
  /** An agent could not build: the conductor tries the next alternate, or sets the instance to error (spec 6.1). */
  build_instances: writes({ instanceUuid: uuid, alternates, retry, reason: text(LONG), requestId: name }, nothing),
  /** Handles a delete that reached a host without the instance: performed on the present host, or without any host. */
  delete_instance: writes({ instanceUuid: uuid }, nothing),
  /**
   * A destination could not prepare a resize and has released its claim: tries the next alternate (spec 6.3 row 4).
   * `flavor`: the new one.
   */
  migrate_server: writes(
    {
      instanceUuid: uuid,
      migrationId: id,
      flavor: object(FLAVOR),
      alternates,
      retry,
      failure: object(DESTINATION_FAILURE),
      requestId: name,
    },
    nothing,
  ),
  /** Migrates records of older releases, at most `limit` of each kind. */
  online_data_migrations: writes({ limit: id }, trusted<OnlineDataMigration[]>()),
  /** The operator's stop and start, for power-state sync and lifecycle (spec 4.10). */
  stop_instance: writes({ instanceUuid: uuid }, nothing),
  /** Returns the ports of an instance that this control plane has bound, from the point of view of the host. */
  instance_ports: reads({ uuid, host: hostName }, trusted<NetworkPort[]>()),
  /** Marks these ports as connected and active on the host, and notifies the waiters (spec 8.6). */
  vifs_plugged: writes({ host: hostName, instanceUuid: uuid, ports: listOf(uuid) }, nothing),
  /** Reports the bridges of a host's physical networks, `{ physnet1: "br-phys" }`, until its next boot. */
  report_bridges: sets({ host: hostName, bridgeMappings: mapOf(text()) }, nothing),
  /** Sends the scheduler the list of a host's instances. */
  sync_instance_info: sets({ host: hostName, instanceUuids: listOf(uuid) }, nothing),
  /**
   * Returns the owner of a host's lease (spec 2.4 G6); null if there is none, or its boot has ended and the lease has
   * expired.
   */
  host_lease_holder: reads({ host: hostName }, trusted<LeaseHolder | null>()),
  /**
   * Returns a token with role `service` for Placement, and its endpoint, for agents without their own `[placement]` section.
   */
  placement_access: waits({}, trusted<PlacementAccess>()),
  /** Returns a token and endpoint for the Image service. */
  image_access: waits({}, trusted<PlacementAccess>()),
  /**
   * Returns a token and endpoint for Block Storage. `instanceUuid`: the token is that of the server's user in the server's
   * project, which is to own a new volume; null: Compute's own. @throws InstanceNotFound
   */
  volume_access: waits({ instanceUuid: nullable(uuid) }, trusted<PlacementAccess>()),
};

/** Methods of the conductor, called by an agent or by an operator's command. Names are Nova's. */
export const CONDUCTOR_METHODS = {
  ...RECORD_METHODS,
  ...WORK_METHODS,
  ...OPERATOR_METHODS,
  ...HOST_METHODS,
  ...CLUSTER_METHODS,
};

export type ConductorMethods = MethodsOf<typeof CONDUCTOR_METHODS>;

export type ConductorMethod = keyof ConductorMethods;
