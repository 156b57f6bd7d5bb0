import type { Definition } from "./definition.js";
import type { Layout } from "./layout.js";

/** The monitor's socket, in the current folder of a QEMU. */
export const MONITOR = "qmp";
/** Where QEMU writes its pid, and which it locks: two cannot run one guest. */
export const PID_FILE = "pid";
export const RESCUE_DISK = "disk.rescue";

export interface CommandLineParts {
  readonly binary: string;
  readonly kvm: boolean;
  readonly definition: Definition;
  readonly layout: Layout;
  /** Where the guest's memory comes from, as `-incoming` has it. Left out: it boots. */
  readonly incoming?: string | undefined;
}

/** The arguments of a guest's QEMU, which runs in the guest's folder of runs. */
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

/** QEMU's name of a guest's disk, by its place. */
export const nodeOf = (index: number): string => `disk${index}`;

export function blockNode(name: string, path: string): Readonly<Record<string, unknown>> {
  return { driver: "qcow2", "node-name": name, file: { driver: "file", filename: path } };
}

/** A word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
