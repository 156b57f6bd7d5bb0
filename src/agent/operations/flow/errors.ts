import { PublicError } from "../../../runtime/public-error.js";

/** Base of what an operation refuses; names are OpenStack's. */
export class OperationError extends PublicError {
  override readonly name: string = "OperationError";
}

/** The driver cannot be the destination of an evacuation (spec 6.7 row 4). */
export class InstanceRecreateNotSupported extends OperationError {
  override readonly name = "InstanceRecreateNotSupported";
}

/** What the request says of shared storage is not what the driver sees (spec 3.3). */
export class InvalidSharedStorage extends OperationError {
  override readonly name = "InvalidSharedStorage";
}

/** A cold migration whose destination is its source (spec 6.3). */
export class UnableToMigrateToSelf extends OperationError {
  override readonly name = "UnableToMigrateToSelf";
}

/** The host has members of the instance's server group that it may not share with it, or others have none (spec 6.9). */
export class GroupAffinityViolation extends OperationError {
  override readonly name = "GroupAffinityViolation";
}
