import type { Flavor, Resources } from "./flavor.js";
import type { Instance } from "./instance.js";
import { flavorResources, type ServerNeed } from "./resource-request.js";

/** The prefix of image properties in an instance's system metadata. */
const PREFIX = "image_";

type Metadata = Instance["systemMetadata"];

/** Returns the system metadata with a copy of the image's properties, since images change and are deleted. */
export function withImageProperties(metadata: Metadata, properties: Readonly<Record<string, string>>): Metadata {
  const rest = Object.entries(metadata).filter(([key]) => !key.startsWith(PREFIX));
  const noted = Object.entries(properties).map(([name, value]) => [`${PREFIX}${name}`, value] as const);
  return Object.fromEntries([...rest, ...noted]);
}

export function imagePropertiesOf({ systemMetadata }: Pick<Instance, "systemMetadata">): Record<string, string> {
  return Object.fromEntries(
    Object.entries(systemMetadata)
      .filter(([key]) => key.startsWith(PREFIX))
      .map(([key, value]) => [key.slice(PREFIX.length), value]),
  );
}

/** Returns whether an instance boots from a volume, which is the case without an image. */
export const isVolumeBacked = ({ imageRef }: Pick<Instance, "imageRef">): boolean => imageRef === "";

/** Returns the requirements of an instance beyond its flavor. */
function serverNeed(instance: Pick<Instance, "imageRef" | "systemMetadata">): ServerNeed {
  return { volumeBacked: isVolumeBacked(instance), imageProperties: imagePropertiesOf(instance) };
}

/**
 * Returns the resources that an instance has allocated in Placement while no operation runs; with another flavor: those
 * that it would need.
 */
export function instanceResources(instance: Instance, flavor: Flavor = instance.flavor): Resources {
  return flavorResources(flavor, serverNeed(instance));
}

type Properties = Readonly<Record<string, string>>;

/**
 * The rules for a property's value, as in Nova's `ImageMetaProps` (1.34). A property without a rule accepts any string.
 */
interface ValueRule {
  /** Absent: an integer. */
  readonly values?: readonly string[];
  /** Nova compares the values in lower case. */
  readonly anyCase?: boolean;
  /** Other spellings in lower case, with the value that Nova replaces them by. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Returns the error message for an invalid value. */
  readonly error?: (value: string) => string;
}

const words = (text: string): readonly string[] => text.split(" ");

const oneOf = (text: string): ValueRule => ({ values: words(text) });

const INTEGER: ValueRule = {};

const ARCHITECTURE: ValueRule = {
  values: words(
    "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel mips64 mips64el openrisc " +
      "parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 xtensa xtensaeb",
  ),
  anyCase: true,
  aliases: { i386: "i686", i486: "i686", i586: "i686", x86_32: "i686", x86_32p: "i686", amd64: "x86_64" },
  error: (value) => `Architecture name '${value}' is not valid`,
};

const HYPERVISOR_TYPE: ValueRule = {
  values: words(
    "baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp qemu test uml vbox vz vmware xen zvm prsm",
  ),
  anyCase: true,
  aliases: { xapi: "xen" },
  error: (value) => `Hypervisor virt type '${value}' is not valid`,
};

const VM_MODE: ValueRule = {
  values: words("hvm xen uml exe"),
  anyCase: true,
  aliases: { pv: "xen", hv: "hvm", baremetal: "hvm" },
  error: (value) => `Virtual machine mode '${value}' is not valid`,
};

const VIF_MODEL: ValueRule = {
  values: words("virtio ne2k_pci pcnet rtl8139 e1000 e1000e netfront spapr-vlan lan9118 sriov vmxnet vmxnet3"),
  anyCase: true,
  aliases: {
    virtuale1000: "e1000",
    virtuale1000e: "e1000e",
    virtualpcnet32: "pcnet",
    virtualsriovethernetcard: "sriov",
    virtualvmxnet: "vmxnet",
    virtualvmxnet3: "vmxnet3",
  },
};

const DISK_BUS = oneOf("fdc ide sata scsi usb virtio xen lxc uml");

const RULES: Readonly<Record<string, ValueRule>> = {
  hw_architecture: ARCHITECTURE,
  hw_emulation_architecture: ARCHITECTURE,
  hw_cdrom_bus: DISK_BUS,
  hw_cpu_cores: INTEGER,
  hw_cpu_sockets: INTEGER,
  hw_cpu_max_cores: INTEGER,
  hw_cpu_max_sockets: INTEGER,
  hw_cpu_max_threads: INTEGER,
  hw_cpu_policy: oneOf("dedicated shared mixed"),
  hw_cpu_thread_policy: oneOf("prefer isolate require"),
  hw_cpu_threads: INTEGER,
  hw_device_id: INTEGER,
  hw_disk_bus: DISK_BUS,
  hw_floppy_bus: DISK_BUS,
  hw_firmware_type: oneOf("uefi bios"),
  hw_input_bus: oneOf("usb virtio"),
  hw_numa_nodes: INTEGER,
  hw_pci_numa_affinity_policy: oneOf("required legacy preferred socket"),
  hw_pointer_model: oneOf("usbtablet"),
  hw_rescue_bus: DISK_BUS,
  hw_rescue_device: oneOf("cdrom disk floppy fs lun"),
  hw_rng_model: oneOf("virtio"),
  hw_serial_port_count: INTEGER,
  hw_scsi_model: {
    ...oneOf("buslogic ibmvscsi lsilogic lsisas1068 lsisas1078 virtio-scsi vmpvscsi"),
    anyCase: true,
    aliases: { lsilogicsas: "lsisas1068", paravirtual: "vmpvscsi" },
  },
  hw_video_model: oneOf("cirrus qxl vga vmvga xen virtio gop none bochs"),
  hw_video_ram: INTEGER,
  hw_vif_model: VIF_MODEL,
  hw_viommu_model: oneOf("intel smmuv3 virtio auto"),
  hw_vm_mode: VM_MODE,
  hw_watchdog_action: oneOf("none pause poweroff reset disabled"),
  hw_tpm_model: oneOf("tpm-tis tpm-crb"),
  hw_tpm_version: oneOf("1.2 2.0"),
  hw_ephemeral_encryption_format: oneOf("plain luks luksv2"),
  img_compression_level: INTEGER,
  img_hv_type: HYPERVISOR_TYPE,
  img_config_drive: oneOf("optional mandatory"),
  img_version: INTEGER,
  img_signature_hash_method: oneOf("SHA-224 SHA-256 SHA-384 SHA-512"),
  img_signature_key_type: oneOf(
    "DSA ECC_SECP384R1 ECC_SECP521R1 ECC_SECT409K1 ECC_SECT409R1 ECC_SECT571K1 ECC_SECT571R1 RSA-PSS",
  ),
  os_secure_boot: oneOf("required disabled optional"),
  os_type: { ...oneOf("linux windows"), anyCase: true },
};

/** Legacy property names, with Nova's current names. */
const LEGACY_NAMES: Readonly<Record<string, string>> = {
  architecture: "hw_architecture",
  vmware_image_version: "img_version",
  xenapi_device_id: "hw_device_id",
  xenapi_image_compression_level: "img_compression_level",
  vm_mode: "hw_vm_mode",
  hypervisor_version_requires: "img_hv_requested_version",
  hypervisor_type: "img_hv_type",
};

/** Followed by the number of a NUMA node. */
const NUMA_MEMORY = "hw_numa_mem.";

const VERSION_PROPERTY = "img_hv_requested_version";

/**
 * The image properties that the scheduler compares with hosts, in Nova's spelling; undefined if the image lacks them.
 */
export interface HostRequirements {
  readonly architecture: string | undefined;
  readonly hypervisorType: string | undefined;
  readonly vmMode: string | undefined;
  /** `>=6.0,<6.2` */
  readonly hypervisorVersion: string | undefined;
}

/** Returns an image's requirements for a host. A property's current name takes precedence over its legacy one. */
export function hostRequirementsOf(image: Properties): HostRequirements {
  const requiredValue = (name: string, legacy: string) => {
    const value = image[name] ?? image[legacy];
    const rule = RULES[name];
    return value === undefined || rule === undefined ? value : canonical(rule, value);
  };
  return {
    architecture: requiredValue("hw_architecture", "architecture"),
    hypervisorType: requiredValue("img_hv_type", "hypervisor_type"),
    vmMode: requiredValue("hw_vm_mode", "vm_mode"),
    hypervisorVersion: requiredValue(VERSION_PROPERTY, "hypervisor_version_requires"),
  };
}

/** Returns Nova's error message for the first property with an invalid value; null if all are valid. */
export function invalidImageProperty(image: Properties): string | null {
  const legacy = Object.entries(LEGACY_NAMES).flatMap(([old, name]) => withValue(name, image[old]));
  const adapter = adapterProperties(image.vmware_adaptertype);
  const current = [...Object.keys(RULES), VERSION_PROPERTY].flatMap((name) => withValue(name, image[name]));
  for (const [name, value] of [...legacy, ...adapter, ...current, ...memoryOfNumaNodes(image)]) {
    const error = errorOf(name, value);
    if (error !== null) {
      return error;
    }
  }
  return null;
}

/** Nova reads the legacy `vmware_adaptertype` as a disk bus, and any value but `ide` as a SCSI controller model. */
function adapterProperties(type: string | undefined): readonly (readonly [string, string])[] {
  return type === undefined || type === "" || type === "ide" ? [] : [["hw_scsi_model", type]];
}

/** Nova stops at the first NUMA node without the property. */
function memoryOfNumaNodes(image: Properties): readonly (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (;;) {
    const name = `${NUMA_MEMORY}${found.length}`;
    const value = image[name];
    if (value === undefined) {
      return found;
    }
    found.push([name, value]);
  }
}

function withValue(name: string, value: string | undefined): readonly (readonly [string, string])[] {
  return value === undefined ? [] : [[name, value]];
}

function errorOf(name: string, value: string): string | null {
  if (name === VERSION_PROPERTY) {
    return versionConditions(value) === null ? `Version ${value} is not a valid predicate in field ${name}` : null;
  }
  const rule = name.startsWith(NUMA_MEMORY) ? INTEGER : RULES[name];
  if (rule === undefined) {
    return null;
  }
  if (rule.values === undefined) {
    return /^\s*[+-]?\d+(?:_\d+)*\s*$/.test(value) ? null : `invalid literal for int() with base 10: '${value}'`;
  }
  const compared = canonical(rule, value);
  if (rule.values.includes(compared)) {
    return null;
  }
  return rule.error?.(value) ?? `Field value ${compared} is invalid`;
}

function canonical({ anyCase = false, aliases = {} }: ValueRule, value: string): string {
  const lower = value.toLowerCase();
  return aliases[lower] ?? (anyCase ? lower : value);
}

type Comparison = "<" | "<=" | ">" | ">=" | "==" | "!=";

/** A condition of a version predicate, as Python's `distutils.versionpredicate` parses it. */
export interface VersionCondition {
  readonly comparison: Comparison;
  /** Major, minor, patch. */
  readonly version: readonly [number, number, number];
}

/** Matches `>= 2.1` or `<2.1.3`. Hypervisors have no pre-releases (`1.0a1`), which Python also accepts. */
const CONDITION = /^\s*(<=|>=|<|>|!=|==)\s*(\d+)\.(\d+)(?:\.(\d+))?\s*$/;

/** Parses the conditions of `>=6.0,<6.2`; returns null if the text is not a predicate. */
export function versionConditions(text: string): readonly VersionCondition[] | null {
  const conditions = text.split(",").map((part): VersionCondition | null => {
    const [, comparison, major, minor, patch = "0"] = CONDITION.exec(part) ?? [];
    return comparison === undefined
      ? null
      : { comparison: comparison as Comparison, version: [Number(major), Number(minor), Number(patch)] };
  });
  return conditions.every((condition) => condition !== null) ? conditions : null;
}
