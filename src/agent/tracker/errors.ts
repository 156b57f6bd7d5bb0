import { PublicError } from "../../runtime/public-error.js";

/** Base of what the tracker raises on purpose; names are OpenStack's. */
class TrackerError extends PublicError {
  override readonly name: string = "TrackerError";
}

/** The tracker is bound to one Service row and was given another (spec 2.1 step 5). */
export class ComputeServiceInUse extends TrackerError {
  override readonly name = "ComputeServiceInUse";
}

/** The Service row is another host's (spec 2.1 step 5). */
export class ServiceNotUnique extends TrackerError {
  override readonly name = "ServiceNotUnique";
}

/** A discrete resource that a guest was given is not in the provider tree any more (spec 4.4 step 12). */
export class AssignedResourceNotFound extends TrackerError {
  override readonly name = "AssignedResourceNotFound";
}

/** A file of `[compute] provider_config_location` breaks a rule of its schema (spec 4.9); fatal at start. */
export class ProviderConfigException extends TrackerError {
  override readonly name = "ProviderConfigException";
}

/** provider.yaml contradicts what the driver or Placement says of a provider; that node's pass fails (spec 4.9). */
export class ProviderConfigConflict extends TrackerError {
  override readonly name = "ValueError";
}
