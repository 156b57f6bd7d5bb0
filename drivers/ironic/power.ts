import type { Instance } from "../../src/virt/index.js";
import type { CallOptions, PowerTarget } from "./client/ironic-api.js";
import { means } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { IronicParts } from "./parts.js";
import { nodeOf, pollInstance, sendOnce } from "./polling.js";

export async function powerOn(parts: IronicParts, instance: Instance, options: CallOptions): Promise<void> {
  await switchPower(parts, instance, "power on", options);
}

/** @param timeout seconds that the system on the node has to shut down by itself; 0: it is switched off at once. */
export async function powerOff(
  parts: IronicParts,
  instance: Instance,
  { timeout = 0, ...options }: CallOptions & { readonly timeout?: number },
): Promise<void> {
  if (timeout > 0) {
    try {
      const node = await switchPower(parts, instance, "soft power off", { ...options, timeout });
      if (node?.powerState === "power off") {
        return;
      }
    } catch (error) {
      if (!isRefusal(error)) {
        throw error;
      }
    }
    parts.context.logger.info("node did not shut down by itself: it is switched off", { instance: instance.uuid });
  }
  await switchPower(parts, instance, "power off", options);
}

export async function reboot(
  parts: IronicParts,
  instance: Instance,
  type: "SOFT" | "HARD",
  options: CallOptions,
): Promise<void> {
  if (type === "SOFT") {
    try {
      await switchPower(parts, instance, "soft rebooting", options);
      return;
    } catch (error) {
      if (!isRefusal(error)) {
        throw error;
      }
      parts.context.logger.info("node cannot be rebooted softly: it is rebooted hard", { instance: instance.uuid });
    }
  }
  await switchPower(parts, instance, "rebooting", options);
}

/** 400: the node, or its driver, cannot do this. */
function isRefusal(error: unknown): boolean {
  return means(error, "other", "wrong-state", "maintenance") && error.status === 400;
}

const RESULT: Readonly<Record<PowerTarget, string>> = {
  "power on": "power on",
  rebooting: "power on",
  "soft rebooting": "power on",
  "power off": "power off",
  "soft power off": "power off",
};

/** @returns the node when Ironic has nothing to do with its power any more. */
async function switchPower(
  parts: IronicParts,
  instance: Instance,
  target: PowerTarget,
  { signal, timeout }: CallOptions & { readonly timeout?: number },
): Promise<IronicNode | null> {
  const node = await nodeOf(parts, instance, { signal });
  const isReboot = target === "rebooting" || target === "soft rebooting";
  await sendOnce(
    parts,
    node.uuid,
    { signal },
    () => parts.api.setPowerState(node.uuid, target, { signal, ...(timeout === undefined ? {} : { timeout }) }),
    (now) => now.targetPowerState !== null || (!isReboot && now.powerState === RESULT[target]),
  );
  let last: IronicNode | null = null;
  await pollInstance(parts, instance, { waitingFor: target, signal }, (now) => {
    last = now;
    return now === null || now.targetPowerState === null;
  });
  return last;
}
