import {
  type BlockDeviceInfo,
  BuildAbortException,
  type GuestVolume,
  type ImageMeta,
  type Instance,
  InstanceNotRunning,
  md5,
} from "../../src/virt/index.js";
import type { AssignedDevice, Domain, DomainDisk, DomainState, VolumeDisk, VolumeSource } from "./domain.js";
import type { DiskSpec, InstanceFiles } from "./instance-files.js";

/** Nova's `instance_name_template`. */
export const domainName = ({ id }: Pick<Instance, "id">): string => `instance-${id.toString(16).padStart(8, "0")}`;

/** A disk in a file, with its name in the guest. */
export interface LocalDiskSpec extends DiskSpec {
  /** Such as `vda`. */
  readonly target: string;
  readonly bus: string;
}

/**
 * Returns the local disks of an instance with Nova's names. A volume-backed instance has no root disk. Without ephemeral or
 * swap disks of its own, an instance has those of its flavor.
 */
export function toDiskSpecs(instance: Instance, blockDevices?: BlockDeviceInfo, minDisk = 0): readonly LocalDiskSpec[] {
  const root = targetOf(blockDevices?.rootDeviceName ?? "/dev/vda");
  const bus = BUS_OF_PREFIX[root.slice(0, 2)] ?? "virtio";
  const isFromVolume = blockDevices?.volumes.some(({ bootIndex }) => bootIndex === 0) ?? false;
  const hasRoot = instance.imageRef !== "" && !isFromVolume;
  const used = new Set([root, ...(blockDevices?.volumes ?? []).map(({ deviceName }) => targetOf(deviceName))]);
  const next = () => {
    const target = nextTarget(root.slice(0, 2), used);
    used.add(target);
    return target;
  };
  const ofKind = (kind: "ephemeral" | "swap", flavorGib: number) => {
    const own = (blockDevices?.localDisks ?? []).filter((disk) => disk.kind === kind);
    const requested = own.map(({ sizeMb, deviceName, diskBus }) => {
      const target = targetOf(deviceName);
      used.add(target);
      return { gib: sizeMb / 1024, target, bus: diskBus };
    });
    return requested.length > 0 || flavorGib === 0 ? requested : [{ gib: flavorGib, target: next(), bus }];
  };
  const ephemeral = ofKind("ephemeral", instance.ephemeralGb);
  const swap = ofKind("swap", instance.flavor.swap / 1024);
  return [
    ...(hasRoot ? [{ name: "disk", gib: Math.max(instance.rootGb, minDisk), target: root, bus }] : []),
    ...ephemeral.map((disk, index) => ({ name: `disk.eph${index}`, ...disk })),
    ...swap.map((disk) => ({ name: "disk.swap", ...disk })),
  ];
}

const BUS_OF_PREFIX: Readonly<Record<string, string>> = { vd: "virtio", sd: "scsi", hd: "ide" };

/** `/dev/vdb` → `vdb` */
const targetOf = (deviceName: string): string => deviceName.replace(/^\/dev\//, "");

/** Returns the first free name: `vd` → `vdb`. */
export function nextTarget(prefix: string, used: ReadonlySet<string>): string {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const names = [...letters, ...[...letters].flatMap((first) => [...letters].map((second) => first + second))];
  return `${prefix}${names.find((name) => !used.has(prefix + name)) ?? "zz"}`;
}

export function toVolumeDisk(volume: GuestVolume): VolumeDisk {
  const { bootIndex, tag } = volume;
  return {
    volumeId: volume.volumeId,
    source: sourceOf(volume),
    target: targetOf(volume.deviceName),
    bus: volume.diskBus,
    device: volume.deviceType,
    isShareable: volume.isShareable,
    bootOrder: bootIndex === null || bootIndex < 0 ? null : bootIndex + 1,
    sizeGb: volume.size,
    tag: tag === "" ? null : tag,
  };
}

/** Returns the paths that os-brick gives to the connections of the host. */
function sourceOf({ volumeId, connectionInfo }: GuestVolume): VolumeSource {
  const { driver_volume_type: type, data } = connectionInfo;
  const text = (name: string) => {
    const value = typeof data === "object" && data !== null ? (data as Record<string, unknown>)[name] : undefined;
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  if (type === "iscsi") {
    const iqn = text("target_iqn") || `iqn.2010-10.org.openstack:volume-${volumeId}`;
    const path = `ip-${text("target_portal") || "127.0.0.1:3260"}-iscsi-${iqn}-lun-${text("target_lun") || "0"}`;
    return { type: "block", name: `/dev/disk/by-path/${path}`, protocol: "" };
  }
  if (type === "local" || type === "fibre_channel") {
    return { type: "block", name: text("device_path") || `/dev/disk/by-id/${volumeId}`, protocol: "" };
  }
  if (type === "nfs") {
    return { type: "file", name: `/var/lib/nova/mnt/${md5(text("export"))}/${text("name")}`, protocol: "" };
  }
  return { type: "network", name: text("name") || volumeId, protocol: typeof type === "string" ? type : "unknown" };
}

/** @throws {BuildAbortException} no host can run this image. */
export function assertSupportedImage({ name, id, diskFormat }: ImageMeta): void {
  if (diskFormat === "raw" || diskFormat === "qcow2" || id === "") {
    return;
  }
  throw new BuildAbortException(
    `image ${name} (${id}) has disk format ${diskFormat}; fake-libvirt supports raw and qcow2`,
  );
}

export interface NewDomainParts {
  readonly instance: Instance;
  readonly disks: readonly LocalDiskSpec[];
  readonly volumes: readonly VolumeDisk[];
  readonly files: InstanceFiles;
  readonly format: DomainDisk["format"];
  readonly devices: readonly AssignedDevice[];
  readonly cpuModel: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Returns the domain of a Nova instance. */
export function newDomain(parts: NewDomainParts): Domain {
  const { instance, disks, volumes, files, format, devices, cpuModel, now } = parts;
  return {
    uuid: instance.uuid,
    name: domainName(instance),
    memoryMb: instance.memoryMb,
    vcpus: instance.vcpus,
    cpuModel,
    disks: disks.map(({ name, target, bus }) => ({
      path: files.disk(instance.uuid, name),
      format: name === "disk" ? format : "raw",
      target,
      bus,
    })),
    volumes,
    devices,
    nova: {
      displayName: instance.displayName,
      creationTime: new Date(now).toISOString().slice(0, 19).replace("T", " "),
      flavor: {
        name: instance.flavor.name,
        memoryMb: instance.memoryMb,
        rootGb: disks.some(({ name }) => name === "disk") ? instance.rootGb : 0,
        swapMb: instance.flavor.swap,
        ephemeralGb: instance.ephemeralGb,
        vcpus: instance.vcpus,
      },
      projectId: instance.projectId,
      userId: instance.userId,
      imageId: instance.imageRef,
    },
    leftBehind: false,
    awaited: false,
  };
}

/** Returns the transition to a state that requires a running or paused guest. */
export function active(targetState: DomainState, instance: Instance): (state: DomainState) => DomainState {
  return (state) => {
    if (state === "running" || state === "paused" || state === targetState) {
      return targetState;
    }
    throw new InstanceNotRunning(`guest ${domainName(instance)} (${instance.uuid}) is ${state}, expected running`);
  };
}
