import { POWER_STATES, type PowerState } from "../../../records/index.js";
import { PublicError } from "../../../runtime/public-error.js";
import { NoValidHost } from "../../scheduler/errors.js";
import { MaxRetriesExceeded } from "./faults.js";

const PRE_CHECK = "Migration pre-check error: ";

/** A destination cannot take this guest live; another one may. */
export class MigrationPreCheckError extends PublicError {
  override readonly name = "MigrationPreCheckError";

  /** @param reason a driver may have put the prefix there already */
  constructor(reason: string) {
    super(reason.startsWith(PRE_CHECK) ? reason : `${PRE_CHECK}${reason}`);
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

/** The guest does not run. */
export class InstanceInvalidState extends PublicError {
  override readonly name = "InstanceInvalidState";
  /** Nova's name of it. */
  readonly powerState: string;

  constructor(uuid: string, powerState: PowerState) {
    const [name = ""] = Object.entries(POWER_STATES).find(([, state]) => state === powerState) ?? [];
    const state = powerState === POWER_STATES.nostate ? "pending" : name;
    super(`Instance ${uuid} in power_state ${state}. Cannot live migrate while the instance is in this state.`);
    this.powerState = state;
  }
}

/** Errors with which no live migration begins: the API answers them with 400 when the client waits. */
export const UNSUITABLE_HOST_ERRORS = [
  NoValidHost,
  MaxRetriesExceeded,
  MigrationPreCheckError,
  ComputeServiceUnavailable,
  UnableToMigrateToSelf,
  InvalidHypervisorType,
  DestinationHypervisorTooOld,
];
