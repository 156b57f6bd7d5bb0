import { flag, integer, listOf, name, nullable, object, oneOf, type RecordOf, text, uuid } from "./field.js";

/** What is counted; null: not known. Counters of errors are -1 where a hypervisor does not count them. */
const counter = nullable(integer(-1, Number.MAX_SAFE_INTEGER));

const words = nullable(text());

export const CPU_DIAGNOSTICS = {
  /** The number of the virtual CPU. */
  id: counter,
  /** Nanoseconds that it has run. */
  time: counter,
  /** Per cent. */
  utilisation: counter,
};

export const NIC_DIAGNOSTICS = {
  macAddress: words,
  rxOctets: counter,
  rxErrors: counter,
  rxDrop: counter,
  rxPackets: counter,
  /** Octets a second. */
  rxRate: counter,
  txOctets: counter,
  txErrors: counter,
  txDrop: counter,
  txPackets: counter,
  /** Octets a second. */
  txRate: counter,
};

export const DISK_DIAGNOSTICS = {
  readBytes: counter,
  readRequests: counter,
  writeBytes: counter,
  writeRequests: counter,
  errorsCount: counter,
};

export const MEMORY_DIAGNOSTICS = {
  /** MiB that the guest may have. */
  maximum: counter,
  /** MiB that it uses. */
  used: counter,
};

/** Kinds of drivers that Nova's API knows. */
const DRIVER_KINDS = ["libvirt", "xenapi", "vmwareapi", "ironic", "hyperv"] as const;

/** What a driver knows of a guest that runs. */
export const GUEST_DIAGNOSTICS = {
  /** Which of Nova's drivers it is like. */
  driver: oneOf(DRIVER_KINDS),
  /** `qemu`, `kvm` … */
  hypervisor: words,
  /** `linux` */
  hypervisorOs: words,
  /** Seconds that the guest has been up. */
  uptime: counter,
  /** It has a config drive. */
  configDrive: flag,
  memoryDetails: object(MEMORY_DIAGNOSTICS),
  cpuDetails: listOf(object(CPU_DIAGNOSTICS)),
  nicDetails: listOf(object(NIC_DIAGNOSTICS)),
  diskDetails: listOf(object(DISK_DIAGNOSTICS)),
};

export type GuestDiagnostics = RecordOf<typeof GUEST_DIAGNOSTICS>;

/** As the compute host answers it: with the guest's state, `running`. */
export const guestDiagnostics = object({ ...GUEST_DIAGNOSTICS, state: text() });

/** A guest as its hypervisor has it, for people. */
const HYPERVISOR_GUEST = {
  /** That of the instance. */
  uuid,
  name: text(),
  /** `running`, `shut off`, `paused` … */
  state: name,
};

export const hypervisorGuest = object(HYPERVISOR_GUEST);

export type HypervisorGuest = RecordOf<typeof HYPERVISOR_GUEST>;
