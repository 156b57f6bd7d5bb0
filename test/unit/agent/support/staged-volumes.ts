import { defaultsOf } from "../../../../src/records/field.js";
import { BLOCK_DEVICE, type BlockDevice, type BlockDeviceChanges } from "../../../../src/records/index.js";
import { VolumeError } from "../../../../src/volume-client/errors.js";
import type { FlowStage } from "./flow-stage.js";

/** A stage's instance has a root volume and a data volume, attached here unless stated otherwise. */
export interface StagedVolumes {
  /** The records as currently saved. */
  readonly devices: () => readonly BlockDevice[];
  /** The attachments in Block Storage, by id: their status. */
  readonly attachments: Map<string, string>;
  /** The calls to Block Storage, the driver's calls, and the writes of records, in order. */
  readonly log: () => readonly string[];
}

const CONNECTION = { driver_volume_type: "iscsi", data: { target_lun: 1 } };

function deviceOf(name: string, changes: Partial<BlockDevice>): BlockDevice {
  return {
    ...defaultsOf(BLOCK_DEVICE),
    id: 1,
    uuid: `device-${name}`,
    instanceUuid: "vm",
    sourceType: "volume",
    destinationType: "volume",
    volumeId: name,
    volumeSize: 1,
    deviceName: `/dev/vd${name.at(-1)}`,
    diskBus: "virtio",
    deviceType: "disk",
    attachmentId: `${name}-0`,
    connectionInfo: CONNECTION,
    createdAt: 0,
    ...changes,
  } as BlockDevice;
}

/** Gives the stage's instance volumes `vol-a` (root) and `vol-b`. New attachments are numbered: `vol-a-1`. */
export function stageVolumes(stage: FlowStage, changes: Partial<BlockDevice> = {}): StagedVolumes {
  const devices = new Map(
    [deviceOf("vol-a", { bootIndex: 0, ...changes }), deviceOf("vol-b", changes)].map((device) => [
      device.uuid,
      device,
    ]),
  );
  const attachments = new Map(
    [...devices.values()].flatMap(({ attachmentId }) => (attachmentId === null ? [] : [[attachmentId, "attached"]])),
  );
  const metadata = { block_devices: "True" };
  Object.assign(stage.instance ?? {}, { systemMetadata: { ...stage.instance?.systemMetadata, ...metadata } });
  const missing = (id: string) => new VolumeError("VolumeAttachmentNotFound", `${id} is gone`);
  const connected = (id: string) => ({ id, volumeId: id.slice(0, 5), status: "attaching", connectionInfo: CONNECTION });
  let count = 0;
  Object.assign(stage.replies, {
    block_devices: () => [...devices.values()],
    block_device_save: ({ uuid, changes: saved }: { uuid: string; changes: BlockDeviceChanges }) => {
      const device = { ...devices.get(uuid), ...saved } as BlockDevice;
      devices.set(uuid, device);
      return device;
    },
    block_device_destroy: ({ uuid }: { uuid: string }) => void devices.delete(uuid),
    "driver.getVolumeConnector": { host: "here" },
    "volumes.getVolume": (id: string) => ({
      id,
      status: "in-use",
      size: 1,
      volumeType: null,
      isMultiattach: false,
      uses: [...attachments]
        .filter(([attachment]) => attachment.startsWith(id))
        .map(([attachmentId]) => ({
          attachmentId,
          instanceUuid: "vm",
          host: attachmentId.endsWith("-0") ? "here" : "there",
        })),
    }),
    "volumes.listAttachments": () => [...attachments].map(([id, status]) => ({ ...connected(id), status })),
    "volumes.getAttachment": (id: string) => connected(id),
    "volumes.createAttachment": (volumeId: string, _: string, connector: object | null) => {
      count += 1;
      const id = `${volumeId}-${count}`;
      attachments.set(id, connector === null ? "reserved" : "attaching");
      return connector === null ? { ...connected(id), status: "reserved", connectionInfo: null } : connected(id);
    },
    "volumes.updateAttachment": (id: string) => {
      if (!attachments.has(id)) {
        return missing(id);
      }
      attachments.set(id, "attaching");
      return connected(id);
    },
    "volumes.completeAttachment": (id: string) => void attachments.set(id, "attached"),
    "volumes.deleteAttachment": (id: string) => void attachments.delete(id),
  });
  return { devices: () => [...devices.values()], attachments, log: () => stage.lines.flatMap(briefLine) };
}

const GUEST_CALLS =
  /^driver\.(spawn|destroy|migrateDisk|finish|preLive|liveMigration$|attachVolume|detachVolume|swapVolume|reboot|powerOn)/;

/** `PUT vol-a-1`, `save vol-a-1`, `driver.spawn` */
function briefLine([call, first, second, third]: readonly [call: string, ...args: unknown[]]): readonly string[] {
  switch (call) {
    case "volumes.createAttachment":
      return [`POST ${first}${third === null ? "" : " connector"}`];
    case "volumes.updateAttachment":
      return [`PUT ${first} ${(second as { mountpoint?: string }).mountpoint}`];
    case "volumes.completeAttachment":
      return [`complete ${first}`];
    case "volumes.deleteAttachment":
    case "volumes.deleteVolume":
      return [`DELETE ${first}`];
    case "volumes.rollDetaching":
    case "volumes.reimageVolume":
      return [`${call.slice("volumes.".length)} ${first}`];
    case "block_device_save": {
      const { changes } = first as { readonly changes: BlockDeviceChanges };
      return [
        `save ${Object.keys(changes).includes("attachmentId") ? changes.attachmentId : Object.keys(changes).join()}`,
      ];
    }
    case "block_device_destroy":
      return [`forget ${(first as { readonly uuid: string }).uuid}`];
    default:
      return GUEST_CALLS.test(call) ? [call] : [];
  }
}
