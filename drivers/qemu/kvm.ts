import type { DriverContext } from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";

/** Milliseconds that a try of KVM has. */
const KVM_PROBE_TIMEOUT_MS = 10_000;

/** A machine begins under KVM, and ends. There may be a /dev/kvm that no guest starts with. */
export async function kvmWorks(
  { kvm, binary, machine, cpu }: QemuConfig,
  { files, processes, timers }: Pick<DriverContext, "files" | "processes" | "timers">,
): Promise<boolean> {
  if (kvm === "never" || !(await files.stat("/dev/kvm"))) {
    return false;
  }
  const late = new AbortController();
  const cancel = timers.after(KVM_PROBE_TIMEOUT_MS, () => late.abort());
  try {
    const script = 'echo quit | exec "$@" -nodefaults -no-user-config -display none -m 16 -S -monitor stdio';
    const argv = ["sh", "-c", script, "sh", binary, "-machine", machine, "-accel", "kvm", "-cpu", cpu];
    return (await processes.run({ argv, signal: late.signal })).code === 0;
  } catch {
    return false;
  } finally {
    cancel();
  }
}
