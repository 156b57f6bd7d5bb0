/**
 * A guest, its disks or QEMU are not as the driver needs them. Nobody tells these errors apart; users see the name.
 * `GuestDidNotStart`: the message ends with QEMU's last output. `WrongGuest`: the process behind a monitor runs another
 * guest.
 */
export class QemuError extends Error {
  override readonly name:
    | "DiskNotFound"
    | "GuestDidNotStart"
    | "GuestDoesNotEnd"
    | "GuestSilent"
    | "ImageToolFailed"
    | "JobFailed"
    | "MemoryNotSent"
    | "WrongGuest";

  constructor(name: QemuError["name"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }
}
