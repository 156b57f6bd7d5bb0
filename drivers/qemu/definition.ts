import { BuildAbortException, type Files, type ImageMeta, type Instance } from "../../src/virt/index.js";
import { type Layout, parsed, UUID } from "./hypervisor-folder.js";

/** A disk that a guest needs. */
export interface DiskSpec {
  /** `disk`, `disk.eph0` or `disk.swap`. */
  readonly name: string;
  readonly bytes: number;
}

/** The parameters of a guest, used for each of its starts. */
export interface Definition {
  readonly uuid: string;
  /** Such as `instance-0000002a`. */
  readonly name: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  /** GiB of disk in its flavor. */
  readonly diskGb: number;
  readonly machine: string;
  readonly cpu: string;
  /** Names of its disks, the boot disk first. */
  readonly disks: readonly string[];
  /** It boots from a rescue disk. */
  readonly rescued: boolean;
  /** Its disks were set aside for another host and have not been restored. */
  readonly leftBehind: boolean;
  /** It arrives by a live migration and cannot be changed until it runs. */
  readonly incoming: boolean;
}

const MIB = 1024 ** 2;

const GIB = 1024 ** 3;

/** Nova's `instance_name_template`. */
export const guestName = ({ id }: Pick<Instance, "id">): string => `instance-${id.toString(16).padStart(8, "0")}`;

/** Returns the local disks of an instance with Nova's names. A volume-backed instance has no root disk. */
export function toDiskSpecs(instance: Instance, minDisk = 0): readonly DiskSpec[] {
  return [
    ...(instance.imageRef === "" ? [] : [{ name: "disk", bytes: Math.max(instance.rootGb, minDisk) * GIB }]),
    ...(instance.ephemeralGb > 0 ? [{ name: "disk.eph0", bytes: instance.ephemeralGb * GIB }] : []),
    ...(instance.flavor.swap > 0 ? [{ name: "disk.swap", bytes: instance.flavor.swap * MIB }] : []),
  ];
}

/** @throws {BuildAbortException} no host can run this image. */
export function assertSupportedImage({ name, id, diskFormat }: ImageMeta): void {
  if (diskFormat === "raw" || diskFormat === "qcow2" || id === "") {
    return;
  }
  throw new BuildAbortException(
    `image ${name} (${id}) has disk format ${diskFormat}; driver qemu supports raw and qcow2`,
  );
}

export function newDefinition(instance: Instance, { machine, cpu }: Pick<Definition, "machine" | "cpu">): Definition {
  const bytes = toDiskSpecs(instance).reduce((sum, disk) => sum + disk.bytes, 0);
  return {
    uuid: instance.uuid,
    name: guestName(instance),
    vcpus: instance.vcpus,
    memoryMb: instance.memoryMb,
    diskGb: Math.ceil(bytes / GIB),
    machine,
    cpu,
    disks: toDiskSpecs(instance).map(({ name }) => name),
    rescued: false,
    leftBehind: false,
    incoming: false,
  };
}

/** The guests of a hypervisor, running or not. A guest exists if and only if its definition does. */
export class Definitions {
  readonly #layout: Layout;
  readonly #files: Files;

  constructor(layout: Layout, files: Files) {
    this.#layout = layout;
    this.#files = files;
  }

  async uuids(): Promise<readonly string[]> {
    const names = await this.#files.list(this.#layout.guests);
    return names
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length))
      .filter((uuid) => UUID.test(uuid));
  }

  async all(): Promise<readonly Definition[]> {
    const found = await Promise.all((await this.uuids()).map((uuid) => this.get(uuid)));
    return found.filter((definition) => definition !== undefined);
  }

  /** Returns undefined if there is no definition, or it cannot be read. */
  async get(uuid: string): Promise<Definition | undefined> {
    const text = await this.#files.readIfPresent(this.#layout.guest(uuid));
    const found = text === undefined ? undefined : parsed(text);
    return isDefinition(found) && found.uuid === uuid ? found : undefined;
  }

  async exists(uuid: string): Promise<boolean> {
    return (await this.#files.stat(this.#layout.guest(uuid))) !== undefined;
  }

  async put(definition: Definition): Promise<void> {
    await this.#files.write(this.#layout.guest(definition.uuid), `${JSON.stringify(definition, null, 2)}\n`);
  }

  /** Succeeds if the definition is absent. */
  async remove(uuid: string): Promise<void> {
    await this.#files.remove(this.#layout.guest(uuid));
  }
}

function isDefinition(value: unknown): value is Definition {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const { uuid, name, vcpus, memoryMb, disks, machine, cpu } = value as Record<string, unknown>;
  return (
    [uuid, name, machine, cpu].every((text) => typeof text === "string") &&
    [vcpus, memoryMb].every((number) => typeof number === "number") &&
    Array.isArray(disks) &&
    disks.every((disk) => typeof disk === "string")
  );
}

/** Name of the monitor's socket in a QEMU's current folder. */
export const MONITOR = "qmp";

/** File to which QEMU writes its pid. QEMU locks it, so that two processes cannot run one guest. */
export const PID_FILE = "pid";

export const RESCUE_DISK = "disk.rescue";

interface CommandLineParts {
  readonly binary: string;
  readonly kvm: boolean;
  readonly definition: Definition;
  readonly layout: Layout;
  /** Source of the guest's memory, as `-incoming` expects it. If omitted, the guest boots. */
  readonly incoming?: string | undefined;
}

/** Returns the command line of a guest's QEMU, which runs in the guest's run folder. */
export function commandLine({ binary, kvm, definition, layout, incoming }: CommandLineParts): readonly string[] {
  const { uuid, name, vcpus, memoryMb, machine, cpu, rescued } = definition;
  const disks = rescued ? [RESCUE_DISK, ...definition.disks] : definition.disks;
  return [
    ...[binary, "-name", `guest=${name}`, "-uuid", uuid, "-pidfile", `${layout.run(uuid)}/${PID_FILE}`],
    ...["-nodefaults", "-no-user-config", "-display", "none", "-msg", "timestamp=on"],
    ...["-machine", machine, "-accel", kvm ? "kvm" : "tcg", "-cpu", cpu, "-smp", String(vcpus), "-m", String(memoryMb)],
    ...["-qmp", `unix:${MONITOR},server=on,wait=off`],
    ...["-chardev", `file,id=console,append=on,path=${layout.console(uuid).replaceAll(",", ",,")}`],
    ...["-serial", "chardev:console"],
    ...disks.flatMap((disk, index) => [
      ...["-blockdev", JSON.stringify(blockNode(nodeOf(index), layout.disk(uuid, disk)))],
      ...["-device", `virtio-blk-pci,id=vd${index},drive=${nodeOf(index)},bootindex=${index + 1}`],
    ]),
    ...(incoming === undefined ? [] : ["-incoming", incoming]),
  ];
}

/** Returns QEMU's name of a guest's disk by its index. */
export const nodeOf = (index: number): string => `disk${index}`;

export function blockNode(name: string, path: string): Readonly<Record<string, unknown>> {
  return { driver: "qcow2", "node-name": name, file: { driver: "file", filename: path } };
}

/** Quotes a word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
