/** A destination cannot take this guest live; another one may. */
export class MigrationPreCheckError extends Error {
  override readonly name = "MigrationPreCheckError";

  constructor(reason: string) {
    super(`Migration pre-check error: ${reason}`);
  }
}

export class ComputeServiceUnavailable extends Error {
  override readonly name = "ComputeServiceUnavailable";

  constructor(host: string) {
    super(`Compute service of ${host} is unavailable at this time.`);
  }
}

export class UnableToMigrateToSelf extends Error {
  override readonly name = "UnableToMigrateToSelf";

  constructor(instance: string, host: string) {
    super(`Unable to migrate instance (${instance}) to current host (${host}).`);
  }
}

export class InvalidHypervisorType extends Error {
  override readonly name = "InvalidHypervisorType";

  constructor() {
    super("The supplied hypervisor type of is invalid.");
  }
}

export class DestinationHypervisorTooOld extends Error {
  override readonly name = "DestinationHypervisorTooOld";

  constructor() {
    super("The instance requires a newer hypervisor version than has been provided.");
  }
}

export class InstanceInvalidState extends Error {
  override readonly name = "InstanceInvalidState";

  constructor(uuid: string, state: string) {
    super(`Instance ${uuid} in power state ${state}. Cannot live migrate while the instance is in this state.`);
  }
}
