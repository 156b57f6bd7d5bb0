import { PublicError } from "../runtime/error-messages.js";

/** Base of the errors that cross the agent's wire: they arrive as the class they left as. */
export class ConductorError extends PublicError {
  /** OpenStack's name of the error; also the class's. */
  override readonly name: string = "ConductorError";
  /** What a program may want to read; JSON. */
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
/** What was asked cannot be said of an instance in its state: `data` has `attr` and `state`. */
export class InstanceInvalidState extends ConductorError {
  override readonly name = "InstanceInvalidState";
}
/** The driver of the host that was asked does not do that. */
export class NotImplementedError extends ConductorError {
  override readonly name = "NotImplementedError";
}
/** The guest's password was not set, or the guest cannot be told. */
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
/** An attempt to change a compute node's uuid and the like (spec 1.3, 2.3). Not an InvalidConfiguration. */
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
/** The conductor refused the parameters: nothing was done. */
export class InvalidParameters extends ConductorError {
  override readonly name = "InvalidParameters";
}
/** The conductor refused the join token. Trying again cannot help. */
export class JoinTokenRejected extends ConductorError {
  override readonly name = "JoinTokenRefused";
}
/** The conductor and this program speak different versions of the wire. */
export class UnsupportedProtocol extends ConductorError {
  override readonly name = "UnsupportedProtocol";
}
/** Too many calls of one connection are under way. */
export class OverLimit extends ConductorError {
  override readonly name = "OverLimit";
}
