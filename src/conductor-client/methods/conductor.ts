import { hostName, id, LONG, listOf, name, object, text, uuid } from "../../records/field.js";
import { DESTINATION_FAILURE, FLAVOR, RETRY_INFO, SELECTION } from "../../records/index.js";
import { CLUSTER_METHODS } from "./cluster.js";
import { type MethodsOf, nothing, reads, sets, trusted, waits, writes } from "./method.js";
import { RECORD_METHODS } from "./records.js";
import { HOST_METHODS, type LeaseHolder } from "./session.js";

export interface HostAggregate {
  readonly uuid: string;
  readonly name: string;
  readonly hosts: readonly string[];
}

/** Consumers that `consumers_under_way` takes at a time. */
export const MAX_CONSUMERS = 5_000;

/** What `compute-cluster manage` asks besides: what nova-manage reads and writes in Nova's databases (spec 7.3 to 7.6). */
export const OPERATOR_METHODS = {
  /** The cell of an instance, also of a deleted one; null: it is mapped to none. */
  instance_mapping: reads({ uuid: name }, trusted<"cell0" | "cell1" | null>()),
  /** Uuids of those that are not deleted and in cell1, oldest first. */
  instances_of_cell: reads({}, trusted<string[]>()),
  /**
   * Which of these consumers are instances that are being built, moved or changed, or migrations that run or have just ended:
   * what they hold is about to fit (7.4 OPT).
   */
  consumers_under_way: reads({ uuids: listOf(name, MAX_CONSUMERS) }, trusted<string[]>()),
  host_aggregates: reads({}, trusted<HostAggregate[]>()),
  /** Whether the host is mapped to a cell. */
  host_mapping: reads({ host: hostName }, trusted<boolean>()),
  /** Gives a node, and its instance, to another service (7.6). @throws ComputeHostNotFound, ServiceNotFound, ConductorError */
  ironic_compute_node_move: writes({ node: name, host: hostName }, nothing),
};

/** One kind of migration: how many records needed it, and how many have been migrated now. */
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
  /** Connected on the host that asks. */
  readonly active: boolean;
}

export interface PlacementAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/** Where it may still be tried. */
const alternates = listOf(object(SELECTION));

/** Where it was tried. */
const retry = object(RETRY_INFO);

/** The methods that hand work to the conductor, or ask it for something that is not a record. */
export const WORK_METHODS = {
  /** An agent could not build: the conductor tries the next alternate, or sets the instance to error (spec 6.1). */
  build_instances: writes({ instanceUuid: uuid, alternates, retry, reason: text(LONG), requestId: name }, nothing),
  /** A delete that reached a host which has not got the instance: it is carried out where that is now, or without any host. */
  delete_instance: writes({ instanceUuid: uuid }, nothing),
  /**
   * A destination could not prepare a resize and has given its claim back: the next alternate (spec 6.3 row 4). `flavor`: the
   * new one.
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
  /** Gives records of older releases what newer ones need, at most `limit` of each kind. */
  online_data_migrations: writes({ limit: id }, trusted<OnlineDataMigration[]>()),
  /** The operator's stop and start, for power-state sync and lifecycle (spec 4.10). */
  stop_instance: writes({ instanceUuid: uuid }, nothing),
  /** The ports of an instance that this control plane has bound, as seen from the host. */
  instance_ports: reads({ uuid, host: hostName }, trusted<NetworkPort[]>()),
  /** These ports are connected on the host: they become active there, and who waits for that is told (spec 8.6). */
  vifs_plugged: writes({ host: hostName, instanceUuid: uuid, ports: listOf(uuid) }, nothing),
  /** Tells the scheduler which instances a host has. */
  sync_instance_info: sets({ host: hostName, instanceUuids: listOf(uuid) }, nothing),
  /** The holder of a host's lease (spec 2.4 G6); null: nobody, or a boot that is gone and whose lease has run out. */
  host_lease_holder: reads({ host: hostName }, trusted<LeaseHolder | null>()),
  /** A token with role `service` for Placement, and where that is; for agents without a `[placement]` section of their own. */
  placement_access: waits({}, trusted<PlacementAccess>()),
  /** The same for the Image service. */
  image_access: waits({}, trusted<PlacementAccess>()),
};

/** What an agent, or an operator's command, may ask of the conductor. Names are Nova's. */
export const CONDUCTOR_METHODS = {
  ...RECORD_METHODS,
  ...WORK_METHODS,
  ...OPERATOR_METHODS,
  ...HOST_METHODS,
  ...CLUSTER_METHODS,
};

export type ConductorMethods = MethodsOf<typeof CONDUCTOR_METHODS>;

export type ConductorMethod = keyof ConductorMethods;
