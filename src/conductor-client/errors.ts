import { PublicError } from "../runtime/error-messages.js";

/** Base of the errors that cross the agent's wire: they are decoded to the class from which they were encoded. */
export class ConductorError extends PublicError {
  /** OpenStack's name of the error; the class's name as well. */
  override readonly name: string = "ConductorError";
  /** Details for programs; JSON. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.data = data;
  }
}

export class InstanceNotFound extends ConductorError {
  override readonly name = "InstanceNotFound";
}
export class UnexpectedTaskState extends ConductorError {
  override readonly name: string = "UnexpectedTaskState";
}
export class UnexpectedDeletingTaskState extends UnexpectedTaskState {
  override readonly name = "UnexpectedDeletingTaskState";
}
export class UnexpectedVmState extends ConductorError {
  override readonly name = "UnexpectedVmState";
}
export class ObjectActionError extends ConductorError {
  override readonly name = "ObjectActionError";
}
export class MigrationNotFound extends ConductorError {
  override readonly name = "MigrationNotFound";
}
export class InvalidMigrationState extends ConductorError {
  override readonly name = "InvalidMigrationState";
}
/** A host cannot take part in a live migration: another one is tried (spec 6.5 row 4). */
export class MigrationPreCheckError extends ConductorError {
  override readonly name = "MigrationPreCheckError";
}
/** The request is invalid for the instance's present state: `data` has `attr` and `state`. */
export class InstanceInvalidState extends ConductorError {
  override readonly name = "InstanceInvalidState";
}
/** The driver of the requested host does not support the method. */
export class NotImplementedError extends ConductorError {
  override readonly name = "NotImplementedError";
}
/** The guest's password was not set, or cannot be set. */
export class InstancePasswordSetFailed extends ConductorError {
  override readonly name: string = "InstancePasswordSetFailed";
}
export class SetAdminPasswdNotSupported extends InstancePasswordSetFailed {
  override readonly name = "SetAdminPasswdNotSupported";
}
export class InstanceAgentNotEnabled extends InstancePasswordSetFailed {
  override readonly name = "InstanceAgentNotEnabled";
}
export class ServiceNotFound extends ConductorError {
  override readonly name = "ServiceNotFound";
}
export class ServiceTooOld extends ConductorError {
  override readonly name = "ServiceTooOld";
}
export class ServiceBinaryExists extends ConductorError {
  override readonly name = "ServiceBinaryExists";
}
export class ComputeHostNotFound extends ConductorError {
  override readonly name = "ComputeHostNotFound";
}
export class DuplicateRecord extends ConductorError {
  override readonly name = "DuplicateRecord";
}
/** An attempt to change a compute node's identity, such as its uuid (spec 1.3, 2.3). Not an InvalidConfiguration. */
export class InvalidNodeConfiguration extends ConductorError {
  override readonly name = "InvalidNodeConfiguration";
}
export class MessagingTimeout extends ConductorError {
  override readonly name = "MessagingTimeout";
}
export class ConductorUnreachable extends ConductorError {
  override readonly name = "ConductorUnreachable";
}
export class HostLeaseHeld extends ConductorError {
  override readonly name = "HostLeaseHeld";
}
/** The conductor rejected the parameters: nothing was done. */
export class InvalidParameters extends ConductorError {
  override readonly name = "InvalidParameters";
}
/** The conductor rejected the join token. A retry cannot help. */
export class JoinTokenRejected extends ConductorError {
  override readonly name = "JoinTokenRefused";
}
/** The conductor and this program use different versions of the wire protocol. */
export class UnsupportedProtocol extends ConductorError {
  override readonly name = "UnsupportedProtocol";
}
/** One connection has too many pending calls. */
export class OverLimit extends ConductorError {
  override readonly name = "OverLimit";
}
