import { PublicError } from "../../../runtime/public-error.js";

/** A destination cannot take this guest live; another one may. */
export class MigrationPreCheckError extends PublicError {
  override readonly name = "MigrationPreCheckError";

  constructor(reason: string) {
    super(`Migration pre-check error: ${reason}`);
  }
}

export class ComputeServiceUnavailable extends PublicError {
  override readonly name = "ComputeServiceUnavailable";

  constructor(host: string) {
    super(`Compute service of ${host} is unavailable at this time.`);
  }
}

export class UnableToMigrateToSelf extends PublicError {
  override readonly name = "UnableToMigrateToSelf";

  constructor(instance: string, host: string) {
    super(`Unable to migrate instance (${instance}) to current host (${host}).`);
  }
}

export class InvalidHypervisorType extends PublicError {
  override readonly name = "InvalidHypervisorType";

  constructor() {
    super("The supplied hypervisor type of is invalid.");
  }
}

export class DestinationHypervisorTooOld extends PublicError {
  override readonly name = "DestinationHypervisorTooOld";

  constructor() {
    super("The instance requires a newer hypervisor version than has been provided.");
  }
}

export class InstanceInvalidState extends PublicError {
  override readonly name = "InstanceInvalidState";

  constructor(uuid: string, state: string) {
    super(`Instance ${uuid} in power state ${state}. Cannot live migrate while the instance is in this state.`);
  }
}
