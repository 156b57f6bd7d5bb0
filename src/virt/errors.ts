import { PublicError } from "../runtime/error-messages.js";

/**
 * Base of the errors that a driver may raise on purpose; anything else counts as a bug or a broken hypervisor. The users of a server
 * may read its message in the server's fault. Of any other error they see the name of its class, and administrators the rest.
 */
export class VirtError extends PublicError {
  /** OpenStack's name of the error; also the class's. */
  override readonly name: string = "VirtError";
}

/** The hypervisor cannot answer yet: passes are skipped, nothing is concluded. */
export class VirtDriverNotReady extends VirtError {
  override readonly name = "VirtDriverNotReady";
}
/** The driver lacks this; where the contract says what is done instead, that is done. */
export class NotImplemented extends VirtError {
  override readonly name = "NotImplementedError";
}
export class GuestNotFound extends VirtError {
  override readonly name = "InstanceNotFound";
}
export class InstanceExists extends VirtError {
  override readonly name = "InstanceExists";
}
export class InstanceNotRunning extends VirtError {
  override readonly name = "InstanceNotRunning";
}
/** Nobody can set the password of a guest like this. */
export class SetAdminPasswdNotSupported extends VirtError {
  override readonly name = "SetAdminPasswdNotSupported";
}
/** The agent in the guest, which would do it, is not enabled. */
export class InstanceAgentNotEnabled extends VirtError {
  override readonly name = "InstanceAgentNotEnabled";
}
export class InstancePowerOffFailure extends VirtError {
  override readonly name = "InstancePowerOffFailure";
}
/** The host does not fit: the build is rescheduled. */
export class ComputeResourcesUnavailable extends VirtError {
  override readonly name = "ComputeResourcesUnavailable";
}
/** Building is hopeless on every host: not rescheduled. */
export class BuildAbortException extends VirtError {
  override readonly name = "BuildAbortException";
}
export class ImageNotFound extends VirtError {
  override readonly name = "ImageNotFound";
}
/** The image has not all its bytes yet. No host could build from it. */
export class ImageNotActive extends VirtError {
  override readonly name = "ImageNotActive";
}
/** The bytes are not what was stored, or nothing that this host could use. No host could build from it. */
export class ImageUnacceptable extends VirtError {
  override readonly name = "ImageUnacceptable";
}
/** The Image service does not answer, refuses, or broke off. */
export class GlanceConnectionFailed extends VirtError {
  override readonly name = "GlanceConnectionFailed";
}
/** The cloud has no Image service, or nobody says where it is. */
export class ImageServiceNotFound extends VirtError {
  override readonly name = "EndpointNotFound";
}
/** The guest's ports could not be connected. */
export class VirtualInterfacePlugException extends VirtError {
  override readonly name = "VirtualInterfacePlugException";
}
/** The network service did not say that the guest's ports are connected. */
export class VirtualInterfaceCreateException extends VirtError {
  override readonly name = "VirtualInterfaceCreateException";
}
/** A device of the guest is not on this host. */
export class PciDeviceNotFound extends VirtError {
  override readonly name = "PciDeviceNotFoundById";
}
/** Nothing happened; the instance keeps its vm_state. `cause` holds the reason. */
export class InstanceFaultRollback extends VirtError {
  override readonly name = "InstanceFaultRollback";
}
/** This host cannot take, or give, a live migration: another one is tried. */
export class MigrationPreCheckError extends VirtError {
  override readonly name = "MigrationPreCheckError";
}
/** Another agent has taken the host since: the hypervisor does nothing more for this one (`supportsFencing`). */
export class HostEpochOutdated extends VirtError {
  override readonly name = "HostEpochOutdated";
}
export class InvalidConfiguration extends VirtError {
  override readonly name = "InvalidConfiguration";
}
/** Inventory must move between providers: call again with the allocations (spec 4.7, 8.7). */
export class ReshapeNeeded extends VirtError {
  override readonly name = "ReshapeNeeded";
}
export class ReshapeFailed extends VirtError {
  override readonly name = "ReshapeFailed";
}

/** The driver broke a rule of the contract: rubbish returned, or something thrown that is no Error. */
export class VirtDriverMisbehaved extends VirtError {
  override readonly name = "VirtDriverMisbehaved";
  readonly driver: string;
  readonly method: string;
  /** The rule, as the message says it. */
  readonly rule: string;

  constructor(driver: string, method: string, rule: string, found: string, options?: ErrorOptions) {
    super(`driver ${driver}: ${method} must ${rule}, but ${found}; this is a defect of the driver`, options);
    this.driver = driver;
    this.method = method;
    this.rule = rule;
  }

  /** The message quotes values of the driver. */
  override get publicMessage(): string {
    return this.name;
  }

  /** One value of many is wrong. @param found as it is to be shown */
  static ofValue(
    driver: string,
    method: string,
    { path, found, expected }: { readonly path: string; readonly found: string; readonly expected: string },
  ): VirtDriverMisbehaved {
    const error = new VirtDriverMisbehaved(driver, method, `give ${expected} as ${path}`, `it is ${found}`);
    error.message = `driver ${driver}: ${method}: ${path} is ${found}, expected ${expected}; this is a defect of the driver`;
    return error;
  }
}

/** The driver did not answer in time and was told to stop; it may still run, and what it has changed is unknown. */
export class VirtDriverTimeout extends VirtError {
  override readonly name = "VirtDriverTimeout";
  readonly driver: string;
  readonly method: string;
  readonly milliseconds: number;

  constructor(driver: string, method: string, milliseconds: number) {
    super(
      `driver ${driver}: ${method} must settle within ${milliseconds} ms, but did not and was told to stop; ` +
        "whether it has changed anything is unknown",
    );
    this.driver = driver;
    this.method = method;
    this.milliseconds = milliseconds;
  }
}

/** The driver threw where nothing could catch it: what it was in the middle of is unknown. */
export class VirtDriverCrashed extends VirtError {
  override readonly name = "VirtDriverCrashed";
  readonly driver: string;
  readonly method: string;

  constructor(driver: string, method: string, what: string, options?: ErrorOptions) {
    super(`driver ${driver} threw in a callback of ${method}, where nothing could catch it: ${what}`, options);
    this.driver = driver;
    this.method = method;
  }
}

/** The plugin cannot be loaded: not found, no definition in it, or written for another contract. */
export class InvalidDriver extends VirtError {
  override readonly name = "InvalidDriver";
}
