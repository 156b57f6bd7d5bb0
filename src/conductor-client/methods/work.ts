import { hostName, id, LONG, listOf, name, object, text, uuid } from "../../records/field.js";
import { DESTINATION_FAILURE, FLAVOR, RETRY_INFO, SELECTION } from "../../records/index.js";
import { nothing, reads, sets, trusted, waits, writes } from "./method.js";
import type { LeaseHolder } from "./session.js";

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
