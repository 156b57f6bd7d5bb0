import { PublicError } from "../runtime/error-messages.js";

/**
 * Base of the errors that a driver may throw deliberately; any other error counts as a bug or a broken hypervisor. Users of
 * a server may read its message in the server's fault. Of any other error they see the class name, and administrators the
 * rest.
 */
export class VirtError extends PublicError {
  /** OpenStack's name of the error; the class's name as well. */
  override readonly name: string = "VirtError";
}

/** The hypervisor is not reachable yet: passes are skipped, and no conclusions are drawn. */
export class VirtDriverNotReady extends VirtError {
  override readonly name = "VirtDriverNotReady";
}
/** The driver does not support this method; where the contract defines a default, that applies. */
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
/** The password of such a guest cannot be set. */
export class SetAdminPasswdNotSupported extends VirtError {
  override readonly name = "SetAdminPasswdNotSupported";
}
/** The agent in the guest, which would set the password, is not enabled. */
export class InstanceAgentNotEnabled extends VirtError {
  override readonly name = "InstanceAgentNotEnabled";
}
export class InstancePowerOffFailure extends VirtError {
  override readonly name = "InstancePowerOffFailure";
}
/** The host has not enough resources: the build is rescheduled. */
export class ComputeResourcesUnavailable extends VirtError {
  override readonly name = "ComputeResourcesUnavailable";
}
/** The build would fail on every host: it is not rescheduled. */
export class BuildAbortException extends VirtError {
  override readonly name = "BuildAbortException";
}
export class ImageNotFound extends VirtError {
  override readonly name = "ImageNotFound";
}
/** The image does not have all its bytes yet. The build would fail on every host. */
export class ImageNotActive extends VirtError {
  override readonly name = "ImageNotActive";
}
/** The content differs from the stored one, or is unusable on this host. The build would fail on every host. */
export class ImageUnacceptable extends VirtError {
  override readonly name = "ImageUnacceptable";
}
/** The Image service does not respond, responds with an error, or closed the connection. */
export class GlanceConnectionFailed extends VirtError {
  override readonly name = "GlanceConnectionFailed";
}
/** The cloud has no Image service, or its endpoint is unknown. */
export class ImageServiceNotFound extends VirtError {
  override readonly name = "EndpointNotFound";
}
/** The guest's ports could not be connected. */
export class VirtualInterfacePlugException extends VirtError {
  override readonly name = "VirtualInterfacePlugException";
}
/** The network service did not confirm that the guest's ports are connected. */
export class VirtualInterfaceCreateException extends VirtError {
  override readonly name = "VirtualInterfaceCreateException";
}
/** No L2 agent of this host could bind a port of the guest: another host is tried. */
export class PortBindingFailed extends VirtError {
  override readonly name = "PortBindingFailed";
}
/** A device of the guest is not on this host. */
export class PciDeviceNotFound extends VirtError {
  override readonly name = "PciDeviceNotFoundById";
}
/** The guest did not release a disk. */
export class DeviceDetachFailed extends VirtError {
  override readonly name = "DeviceDetachFailed";
}
/** The operation had no effect; the instance keeps its vm_state. `cause` has the reason. */
export class InstanceFaultRollback extends VirtError {
  override readonly name = "InstanceFaultRollback";
}
/** This host cannot receive, or send, the live migration: another one is tried. */
export class MigrationPreCheckError extends VirtError {
  override readonly name = "MigrationPreCheckError";
}
/** Another agent has since taken the host: the hypervisor rejects further requests of this one (`supportsFencing`). */
export class HostEpochOutdated extends VirtError {
  override readonly name = "HostEpochOutdated";
}
export class InvalidConfiguration extends VirtError {
  override readonly name = "InvalidConfiguration";
}
/** Inventory must move between providers: the core calls again with the allocations (spec 4.7, 8.7). */
export class ReshapeNeeded extends VirtError {
  override readonly name = "ReshapeNeeded";
}
export class ReshapeFailed extends VirtError {
  override readonly name = "ReshapeFailed";
}

/** The driver violated a rule of the contract: an invalid return value, or a thrown value that is not an Error. */
export class VirtDriverMisbehaved extends VirtError {
  override readonly name = "VirtDriverMisbehaved";
  readonly driver: string;
  readonly method: string;
  /** The rule, as in the message. */
  readonly rule: string;

  constructor(driver: string, method: string, rule: string, found: string, options?: ErrorOptions) {
    super(`driver ${driver}: ${method} must ${rule}, but ${found}; this is a defect of the driver`, options);
    this.driver = driver;
    this.method = method;
    this.rule = rule;
  }

  /** The name only, since the message contains values of the driver. */
  override get publicMessage(): string {
    return this.name;
  }

  /** Creates the error for one invalid value. @param found the value, formatted for the message */
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

/** The driver did not settle within its timeout and was aborted; it may still run, and its effects are unknown. */
export class VirtDriverTimeout extends VirtError {
  override readonly name = "VirtDriverTimeout";
  readonly driver: string;
  readonly method: string;
  readonly milliseconds: number;

  constructor(driver: string, method: string, milliseconds: number) {
    super(
      `driver ${driver}: ${method} must settle within ${milliseconds} ms, but did not, and its signal was aborted; ` +
        "whether it has changed anything is unknown",
    );
    this.driver = driver;
    this.method = method;
    this.milliseconds = milliseconds;
  }
}

/** The driver threw outside its calls' promises and stacks; the state of the interrupted operation is unknown. */
export class VirtDriverCrashed extends VirtError {
  override readonly name = "VirtDriverCrashed";
  readonly driver: string;
  readonly method: string;

  constructor(driver: string, method: string, what: string, options?: ErrorOptions) {
    super(`driver ${driver} threw an uncaught error in a callback of ${method}: ${what}`, options);
    this.driver = driver;
    this.method = method;
  }
}

/** The plugin cannot be loaded: not found, without a definition, or written for another version of the contract. */
export class InvalidDriver extends VirtError {
  override readonly name = "InvalidDriver";
}
