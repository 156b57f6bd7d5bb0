import type { AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { PowerUpdate } from "../operations/contract.js";
import type { AgentServices } from "../services.js";

/**
 * Delivers events to the operations that wait for them. A changed network is connected again, and a power-update changes the
 * instance's state; no operation waits for these two, so errors are logged.
 */
export async function hearEvents(
  services: AgentServices,
  { instanceUuid, events }: ParamsOf<AgentMethods, "external_instance_event">,
  requestId: string,
): Promise<null> {
  const { ports, driver, conductor, host, logger } = services;
  for (const event of events) {
    if (event.name === "power-update") {
      await applyPowerUpdate(services, { instanceUuid, requestId, target: event.tag });
      continue;
    }
    const taken = ports.events.deliver(instanceUuid, event);
    logger.debug(`${event.name} ${taken ? "is what somebody waits for" : "came"}`, {
      instance: instanceUuid,
      tag: event.tag,
    });
  }
  if (!events.some(({ name }) => name === "network-changed")) {
    return null;
  }
  const instance = await conductor.call("instance_get", { uuid: instanceUuid });
  if (instance?.host !== host) {
    return null;
  }
  try {
    if (driver.supports("plugVifs")) {
      await driver.plugVifs(instance);
    } else {
      await ports.connected(instanceUuid, await ports.of(instance));
    }
  } catch (err) {
    logger.error("the changed network of an instance could not be connected", { instance: instanceUuid, err });
  }
  return null;
}

async function applyPowerUpdate({ driver, operations, logger }: AgentServices, update: PowerUpdate): Promise<void> {
  const { instanceUuid, requestId, target } = update;
  try {
    await driver.onBehalf(instanceUuid, requestId, () => operations.updatePower(update));
  } catch (err) {
    logger.error(`power-update ${target} failed`, { instance: instanceUuid, request_id: requestId, err });
  }
}
