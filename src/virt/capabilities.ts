import { describe, suggest } from "./driver-error.js";
import { InvalidDriver } from "./errors.js";

/** The trait of each capability that has one. The tracker sets and removes these traits on the root provider. */
export const CAPABILITY_TRAITS = {
  supportsAttachInterface: "COMPUTE_NET_ATTACH_INTERFACE",
  supportsTaggedAttachInterface: "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
  supportsDeviceTagging: "COMPUTE_DEVICE_TAGGING",
  supportsTaggedAttachVolume: "COMPUTE_VOLUME_ATTACH_WITH_TAG",
  supportsExtendVolume: "COMPUTE_VOLUME_EXTEND",
  supportsMultiattach: "COMPUTE_VOLUME_MULTI_ATTACH",
  supportsTrustedCerts: "COMPUTE_TRUSTED_CERTS",
  supportsAccelerators: "COMPUTE_ACCELERATORS",
  supportsMigrateToSameHost: "COMPUTE_SAME_HOST_COLD_MIGRATE",
  supportsBfvRescue: "COMPUTE_RESCUE_BFV",
  supportsSecureBoot: "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
  supportsSocketPciNumaAffinity: "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
  supportsRemoteManagedPorts: "COMPUTE_REMOTE_MANAGED_PORTS",
  supportsEphemeralEncryption: "COMPUTE_EPHEMERAL_ENCRYPTION",
  supportsEphemeralEncryptionLuks: "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS",
  supportsEphemeralEncryptionPlain: "COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN",
  supportsAddressSpacePassthrough: "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
  supportsAddressSpaceEmulated: "COMPUTE_ADDRESS_SPACE_EMULATED",
  supportsStatelessFirmware: "COMPUTE_SECURITY_STATELESS_FIRMWARE",
  supportsVirtioFs: "COMPUTE_STORAGE_VIRTIO_FS",
  supportsMemBackingFile: "COMPUTE_MEM_BACKING_FILE",
  supportsImageTypeAki: "COMPUTE_IMAGE_TYPE_AKI",
  supportsImageTypeAmi: "COMPUTE_IMAGE_TYPE_AMI",
  supportsImageTypeAri: "COMPUTE_IMAGE_TYPE_ARI",
  supportsImageTypeIso: "COMPUTE_IMAGE_TYPE_ISO",
  supportsImageTypeQcow2: "COMPUTE_IMAGE_TYPE_QCOW2",
  supportsImageTypeRaw: "COMPUTE_IMAGE_TYPE_RAW",
  supportsImageTypeVdi: "COMPUTE_IMAGE_TYPE_VDI",
  supportsImageTypeVhd: "COMPUTE_IMAGE_TYPE_VHD",
  supportsImageTypeVhdx: "COMPUTE_IMAGE_TYPE_VHDX",
  supportsImageTypeVmdk: "COMPUTE_IMAGE_TYPE_VMDK",
  supportsImageTypePloop: "COMPUTE_IMAGE_TYPE_PLOOP",
} as const;

/** The features that have a trait. */
export type CapabilitiesWithTrait = { readonly [C in keyof typeof CAPABILITY_TRAITS]?: boolean };

/** Features that a driver supports (spec 8.4), most of them with a trait. All default to false. */
export interface Capabilities extends CapabilitiesWithTrait {
  /** Enables the cleanup of evacuated guests, and evacuations to this host. */
  readonly supportsEvacuate?: boolean;
  /**
   * The hypervisor rejects late changes of an agent that has lost the host. After `initHost` of a later agent with a greater
   * `epoch` has returned, it changes no guest for an earlier agent. It does not matter when that agent sent the request. The earlier
   * agent's method throws {@link HostEpochOutdated}. Without this capability, an agent that was suspended inside a method
   * may complete it after another agent has taken the host. Has no trait.
   */
  readonly supportsFencing?: boolean;
  /**
   * Nodes have their own uuids, returned by `getNodenamesByUuid` and `getAvailableResource`, so the host needs no
   * `compute_id`. Without this capability, a host without that file fails to start from its second start on. Has no trait.
   */
  readonly hasNodeIdentities?: boolean;
  readonly hasImagecache?: boolean;
  readonly supportsPcpus?: boolean;
  readonly supportsVtpm?: boolean;
}

/** Maps each trait to whether it is supported. Image types in `[compute] image_type_exclude_list` count as unsupported. */
export function capabilitiesAsTraits(
  capabilities: Capabilities,
  excludedImageTypes: readonly string[] = [],
): ReadonlyMap<string, boolean> {
  const known = TRAITS.get(capabilities);
  if (known !== undefined && known.excluded.join() === excludedImageTypes.join()) {
    return known.traits;
  }
  const traits = traitsOf(capabilities, excludedImageTypes);
  TRAITS.set(capabilities, { excluded: excludedImageTypes, traits });
  return traits;
}

/** Cached, since most hosts of a process have the same capabilities. */
const TRAITS = new WeakMap<
  Capabilities,
  { readonly excluded: readonly string[]; readonly traits: ReadonlyMap<string, boolean> }
>();

function traitsOf(capabilities: Capabilities, excludedImageTypes: readonly string[]): ReadonlyMap<string, boolean> {
  const excluded = new Set(excludedImageTypes.map((type) => `COMPUTE_IMAGE_TYPE_${type.toUpperCase()}`));
  return new Map(
    Object.entries(CAPABILITY_TRAITS).map(([capability, trait]) => [
      trait,
      capabilities[capability as keyof Capabilities] === true && !excluded.has(trait),
    ]),
  );
}

const NO_CAPABILITIES: Readonly<Required<Capabilities>> = Object.freeze({
  ...(Object.fromEntries(Object.keys(CAPABILITY_TRAITS).map((capability) => [capability, false])) as Record<
    keyof typeof CAPABILITY_TRAITS,
    boolean
  >),
  supportsEvacuate: false,
  supportsFencing: false,
  hasNodeIdentities: false,
  hasImagecache: false,
  supportsPcpus: false,
  supportsVtpm: false,
});

/** Cached by frozen declaration, which all hosts of the process share. */
const COMPLETE = new WeakMap<Capabilities, Readonly<Required<Capabilities>>>();

/**
 * Returns the capabilities that the driver declares, with defaults for the others.
 * @throws {InvalidDriver} a capability is unknown (mostly a misspelt name) or is not a boolean.
 */
export function completeCapabilities(
  driver: string,
  declared: Capabilities | undefined,
): Readonly<Required<Capabilities>> {
  const known = declared && COMPLETE.get(declared);
  if (known !== undefined) {
    return known;
  }
  const must = `driver ${driver}: create must return a driver whose capabilities`;
  for (const [capability, value] of Object.entries(declared ?? {})) {
    if (!(capability in NO_CAPABILITIES)) {
      throw new InvalidDriver(
        `${must} are known to the contract, but found ${capability}${suggest(capability, Object.keys(NO_CAPABILITIES))}; ` +
          `known capabilities are ${Object.keys(NO_CAPABILITIES).join(", ")}`,
      );
    }
    if (typeof value !== "boolean") {
      throw new InvalidDriver(`${must} are true or false, but ${capability} is ${describe(value)}`);
    }
  }
  const complete = Object.freeze({ ...NO_CAPABILITIES, ...declared });
  if (declared !== undefined && Object.isFrozen(declared)) {
    COMPLETE.set(declared, complete);
  }
  return complete;
}
