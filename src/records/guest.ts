import { flag, integer, listOf, name, nullable, object, oneOf, type RecordOf, text, uuid } from "./field.js";

/** A counter; null if unknown. Error counters are -1 if the hypervisor does not count errors. */
const counter = nullable(integer(-1, Number.MAX_SAFE_INTEGER));

const words = nullable(text());

export const CPU_DIAGNOSTICS = {
  /** The number of the virtual CPU. */
  id: counter,
  /** CPU time in nanoseconds. */
  time: counter,
  /** In percent. */
  utilisation: counter,
};

export const NIC_DIAGNOSTICS = {
  macAddress: words,
  rxOctets: counter,
  rxErrors: counter,
  rxDrop: counter,
  rxPackets: counter,
  /** In octets per second. */
  rxRate: counter,
  txOctets: counter,
  txErrors: counter,
  txDrop: counter,
  txPackets: counter,
  /** In octets per second. */
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
  /** Max memory of the guest in MiB. */
  maximum: counter,
  /** Used memory in MiB. */
  used: counter,
};

/** The driver names of Nova's API. */
const DRIVER_KINDS = ["libvirt", "xenapi", "vmwareapi", "ironic", "hyperv"] as const;

/** A driver's diagnostics of a running guest. */
export const GUEST_DIAGNOSTICS = {
  /** The driver of Nova that it corresponds to. */
  driver: oneOf(DRIVER_KINDS),
  /** `qemu`, `kvm` … */
  hypervisor: words,
  /** `linux` */
  hypervisorOs: words,
  /** Uptime of the guest in seconds. */
  uptime: counter,
  configDrive: flag,
  memoryDetails: object(MEMORY_DIAGNOSTICS),
  cpuDetails: listOf(object(CPU_DIAGNOSTICS)),
  nicDetails: listOf(object(NIC_DIAGNOSTICS)),
  diskDetails: listOf(object(DISK_DIAGNOSTICS)),
};

export type GuestDiagnostics = RecordOf<typeof GUEST_DIAGNOSTICS>;

/** The compute host's response: the diagnostics with the guest's state `running`. */
export const guestDiagnostics = object({ ...GUEST_DIAGNOSTICS, state: text() });

/** A guest as its hypervisor describes it to users. */
const HYPERVISOR_GUEST = {
  /** The instance's uuid. */
  uuid,
  name: text(),
  /** `running`, `shut off`, `paused` … */
  state: name,
};

export const hypervisorGuest = object(HYPERVISOR_GUEST);

export type HypervisorGuest = RecordOf<typeof HYPERVISOR_GUEST>;
