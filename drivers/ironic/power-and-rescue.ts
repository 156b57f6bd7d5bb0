import type { Instance } from "../../src/virt/index.js";
import type { PowerTarget, ProvisionRequest } from "./client/ironic-api.js";
import { means } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import { InstanceDeployFailure, type IronicTools, nodeOf, pollInstance, sendOnce } from "./node-requests.js";

export async function powerOn(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  await switchPower(tools, instance, "power on", options);
}

/** @param timeout seconds for the node's system to shut down by itself; 0 switches it off at once. */
export async function powerOff(
  tools: IronicTools,
  instance: Instance,
  { timeout = 0, ...options }: CallOptions & { readonly timeout?: number },
): Promise<void> {
  if (timeout > 0) {
    try {
      const node = await switchPower(tools, instance, "soft power off", { ...options, timeout });
      if (node?.powerState === "power off") {
        return;
      }
    } catch (error) {
      if (!isRejection(error)) {
        throw error;
      }
    }
    tools.context.logger.info("node did not shut down by itself; switching it off", { instance: instance.uuid });
  }
  await switchPower(tools, instance, "power off", options);
}

export async function reboot(
  tools: IronicTools,
  instance: Instance,
  type: "SOFT" | "HARD",
  options: CallOptions,
): Promise<void> {
  if (type === "SOFT") {
    try {
      await switchPower(tools, instance, "soft rebooting", options);
      return;
    } catch (error) {
      if (!isRejection(error)) {
        throw error;
      }
      tools.context.logger.info("node does not support a soft reboot; rebooting it hard", { instance: instance.uuid });
    }
  }
  await switchPower(tools, instance, "rebooting", options);
}

/** Status 400: the node or its driver does not support the request. */
function isRejection(error: unknown): boolean {
  return means(error, "other", "wrong-state", "maintenance") && error.status === 400;
}

const RESULT: Readonly<Record<PowerTarget, string>> = {
  "power on": "power on",
  rebooting: "power on",
  "soft rebooting": "power on",
  "power off": "power off",
  "soft power off": "power off",
};

/** @returns the node once Ironic has finished changing its power state. */
async function switchPower(
  tools: IronicTools,
  instance: Instance,
  target: PowerTarget,
  { signal, timeout }: CallOptions & { readonly timeout?: number },
): Promise<IronicNode | null> {
  const node = await nodeOf(tools, instance, { signal });
  const isReboot = target === "rebooting" || target === "soft rebooting";
  await sendOnce(
    tools,
    node.uuid,
    { signal },
    () => tools.api.setPowerState(node.uuid, target, { signal, ...(timeout === undefined ? {} : { timeout }) }),
    (now) => now.targetPowerState !== null || (!isReboot && now.powerState === RESULT[target]),
  );
  let last: IronicNode | null = null;
  await pollInstance(tools, instance, { waitingFor: target, signal }, (now) => {
    last = now;
    return now === null || now.targetPowerState === null;
  });
  return last;
}

/** Boots Ironic's own rescue system, whatever the image. The password is generated here. */
export async function rescue(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  const rescuePassword = tools.context.random.hex(16);
  await change(tools, instance, { target: "rescue", rescuePassword }, ["rescue", "rescue failed"], options);
}

/** Succeeds if the node is not rescued. */
export async function unrescue(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  const node = await nodeOf(tools, instance, options);
  if (node.provisionState === "active") {
    return;
  }
  await change(tools, instance, { target: "unrescue" }, ["active", "unrescue failed"], options);
}

async function change(
  tools: IronicTools,
  instance: Instance,
  request: ProvisionRequest,
  [done, failed]: readonly [done: string, failed: string],
  { signal }: CallOptions,
): Promise<void> {
  const before = await nodeOf(tools, instance, { signal });
  await sendOnce(
    tools,
    before.uuid,
    { signal },
    () => tools.api.setProvisionState(before.uuid, request, { signal }),
    (now) => now.provisionState === done || now.targetProvisionState === done,
  );
  await pollInstance(tools, instance, { waitingFor: `${done} after ${request.target}`, signal }, (node) => {
    if (node?.provisionState === done) {
      return true;
    }
    if (node && node.provisionState !== failed) {
      return false;
    }
    throw new InstanceDeployFailure(
      `Failed to ${request.target} instance ${instance.uuid}: ${node ? (node.lastError ?? "Ironic reported no reason") : "its node was released"}`,
    );
  });
}
