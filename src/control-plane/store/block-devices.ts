import { ConductorError } from "../../conductor-client/errors.js";
import { defaultsOf } from "../../records/field.js";
import { BLOCK_DEVICE, type BlockDevice, type BlockDeviceChanges, type NewBlockDevice } from "../../records/index.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const BLOCK_DEVICES = tableOf("block_device_mappings", BLOCK_DEVICE);

const DEFAULTS = defaultsOf(BLOCK_DEVICE);

/** Table `block_device_mappings`. Rows are deleted permanently, the remaining ones with their instance. */
export function createBlockDeviceTable({ sql, clock, random, changes }: StoreContext) {
  const table = new Table(sql, BLOCK_DEVICES);

  return {
    get,
    /** Returns the devices of an instance in the order of their creation. */
    ofInstance: (instanceUuid: string): readonly BlockDevice[] =>
      table.many("instance_uuid = ? ORDER BY id", instanceUuid),
    /** Returns the devices of many instances with one query. Instances without devices are absent. */
    ofInstances: (instanceUuids: readonly string[]): ReadonlyMap<string, readonly BlockDevice[]> => {
      const condition = "instance_uuid IN (SELECT value FROM json_each(?)) ORDER BY id";
      const devices = new Map<string, BlockDevice[]>();
      for (const device of table.many(condition, JSON.stringify(instanceUuids))) {
        devices.set(device.instanceUuid, [...(devices.get(device.instanceUuid) ?? []), device]);
      }
      return devices;
    },
    /** Returns the devices that are one volume; more than one for a volume of several servers. */
    ofVolume: (volumeId: string): readonly BlockDevice[] => table.many("volume_id = ? ORDER BY id", volumeId),
    /**
     * Removes devices whose existing volume was never reserved: their request ended before it was, as by a kill of the
     * control plane.
     */
    removeUnreserved: (): void => {
      sql.execute(
        `DELETE FROM block_device_mappings
          WHERE source_type = 'volume' AND destination_type = 'volume' AND attachment_id IS NULL`,
      );
    },
    create: (device: NewBlockDevice): BlockDevice =>
      sql.transaction(() => {
        const uuid = random.uuid();
        const id = table.insert({ ...DEFAULTS, ...device, uuid, createdAt: clock.now() });
        changes.changed("instance", device.instanceUuid);
        return table.one("id = ?", id) as BlockDevice;
      }),
    /** @throws {ConductorError} BlockDeviceNotFound */
    save: (uuid: string, changed: BlockDeviceChanges): BlockDevice =>
      sql.transaction(() => {
        const device = get(uuid);
        if (device === null) {
          throw new ConductorError("BlockDeviceNotFound", `block device ${uuid} was not found`, { uuid });
        }
        changes.changed("instance", device.instanceUuid);
        return table.change(device, { ...changed, updatedAt: clock.now() });
      }),
    /** Returns false if it did not exist. */
    destroy: (uuid: string): boolean =>
      sql.transaction(() => {
        const device = get(uuid);
        if (device === null) {
          return false;
        }
        sql.execute("DELETE FROM block_device_mappings WHERE id = ?", device.id);
        changes.changed("instance", device.instanceUuid);
        return true;
      }),
  };

  function get(uuid: string): BlockDevice | null {
    return table.one("uuid = ?", uuid);
  }
}
