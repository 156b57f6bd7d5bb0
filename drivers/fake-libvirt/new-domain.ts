import { BuildAbortException, type ImageMeta, type Instance, InstanceNotRunning } from "../../src/virt/index.js";
import type { AssignedDevice, Domain, DomainDisk, DomainState } from "./domain.js";
import type { DiskSpec, InstanceFiles } from "./instance-files.js";

/** Nova's `instance_name_template`. */
export const domainName = ({ id }: Pick<Instance, "id">): string => `instance-${id.toString(16).padStart(8, "0")}`;

/** Returns the local disks of an instance with Nova's names. A volume-backed instance has no root disk. */
export function toDiskSpecs(instance: Instance, minDisk = 0): readonly DiskSpec[] {
  return [
    ...(instance.imageRef === "" ? [] : [{ name: "disk", gib: Math.max(instance.rootGb, minDisk) }]),
    ...(instance.ephemeralGb > 0 ? [{ name: "disk.eph0", gib: instance.ephemeralGb }] : []),
    ...(instance.flavor.swap > 0 ? [{ name: "disk.swap", gib: instance.flavor.swap / 1024 }] : []),
  ];
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
  readonly disks: readonly DiskSpec[];
  readonly files: InstanceFiles;
  readonly format: DomainDisk["format"];
  readonly devices: readonly AssignedDevice[];
  readonly cpuModel: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Returns the domain of a Nova instance. */
export function newDomain({ instance, disks, files, format, devices, cpuModel, now }: NewDomainParts): Domain {
  return {
    uuid: instance.uuid,
    name: domainName(instance),
    memoryMb: instance.memoryMb,
    vcpus: instance.vcpus,
    cpuModel,
    disks: disks.map(({ name }, index) => ({
      path: files.disk(instance.uuid, name),
      format: name === "disk" ? format : "raw",
      target: `vd${String.fromCharCode("a".charCodeAt(0) + index)}`,
    })),
    devices,
    nova: {
      displayName: instance.displayName,
      creationTime: new Date(now).toISOString().slice(0, 19).replace("T", " "),
      flavor: {
        name: instance.flavor.name,
        memoryMb: instance.memoryMb,
        rootGb: instance.imageRef === "" ? 0 : instance.rootGb,
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
