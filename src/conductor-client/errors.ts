import { PublicError } from "../runtime/error-messages.js";

/** The errors that cross the agents' wire, by OpenStack's names. */
const WIRE_ERROR_CODES = [
  "ConductorError",
  "InstanceNotFound",
  "BlockDeviceNotFound",
  "UnexpectedTaskState",
  "UnexpectedDeletingTaskState",
  "UnexpectedVmState",
  "ObjectActionError",
  "MigrationNotFound",
  "InvalidMigrationState",
  /** A host cannot take part in a live migration: another one is tried (spec 6.5 row 4). */
  "MigrationPreCheckError",
  /** The request is invalid for the instance's present state: `data` has `attr` and `state`. */
  "InstanceInvalidState",
  /** The driver of the requested host does not support the method. */
  "NotImplementedError",
  /** The guest's password was not set, or cannot be set. */
  "InstancePasswordSetFailed",
  "SetAdminPasswdNotSupported",
  "InstanceAgentNotEnabled",
  /** A volume cannot be attached to a guest of this host in the requested way. */
  "DevicePathInUse",
  "TooManyDiskDevices",
  "VolumeTaggedAttachNotSupported",
  "MultiattachNotSupportedByVirtDriver",
  "ServiceNotFound",
  "ServiceTooOld",
  "ServiceBinaryExists",
  "ComputeHostNotFound",
  "DuplicateRecord",
  /** An attempt to change a compute node's identity, such as its uuid (spec 1.3, 2.3). Not an InvalidConfiguration. */
  "InvalidNodeConfiguration",
  "MessagingTimeout",
  "ConductorUnreachable",
  "HostLeaseHeld",
  /** The conductor rejected the parameters: nothing was done. */
  "InvalidParameters",
  /** The conductor and this program use different versions of the wire protocol. */
  "UnsupportedProtocol",
  /** One connection has too many pending calls. */
  "OverLimit",
] as const;

type WireErrorCode = (typeof WIRE_ERROR_CODES)[number];

/** The errors that stay in one process: the client's, the control plane's own, and those of records that agents do not read. */
type LocalErrorCode =
  /** The conductor rejected the join token. A retry cannot help. */
  | "JoinTokenRefused"
  /** No connection controls the host, or the requested action failed. */
  | "HostNotControlled"
  | "FlavorExists"
  | "FlavorIdExists"
  | "FlavorNotFound"
  | "FlavorAccessExists"
  | "FlavorAccessNotFound"
  | "KeyPairExists"
  | "AggregateNameExists"
  | "AggregateNotFound"
  | "AggregateHostExists"
  | "AggregateHostNotFound"
  | "SecurityGroupDefaultAlreadyExists"
  | "SecurityGroupInUse"
  | "PortNotFound"
  | "PortInUse"
  | "IpAddressAlreadyAllocated"
  | "InvalidIpForNetwork"
  | "IpAddressGenerationFailure";

export type ConductorErrorCode = WireErrorCode | LocalErrorCode;

/** An error of the conductor or of its client; one that crosses the wire keeps its code, message and data. */
export class ConductorError extends PublicError {
  /** OpenStack's name of the error. */
  readonly code: ConductorErrorCode;
  override readonly name: ConductorErrorCode;
  /** Details for programs; JSON. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ConductorErrorCode, message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.name = code;
    this.data = data;
  }
}

/** The more general code of an error that is a special case of another. */
const GENERAL_CODES: Readonly<Partial<Record<ConductorErrorCode, ConductorErrorCode>>> = {
  UnexpectedDeletingTaskState: "UnexpectedTaskState",
  SetAdminPasswdNotSupported: "InstancePasswordSetFailed",
  InstanceAgentNotEnabled: "InstancePasswordSetFailed",
};

/** Returns whether the error has one of these codes, or is a special case of one. */
export function isConductorError(error: unknown, ...codes: readonly ConductorErrorCode[]): error is ConductorError {
  return (
    error instanceof ConductorError && codes.some((code) => code === error.code || code === GENERAL_CODES[error.code])
  );
}

/** Returns the code with which an error crossed the wire; undefined if this program does not know it. */
export function toWireErrorCode(name: string | undefined): ConductorErrorCode | undefined {
  return WIRE_ERROR_CODES.find((code) => code === name);
}
