import type { AgentMethods } from "../../conductor/methods/agent.js";
import type { ParamsOf } from "../../conductor/methods/method.js";
import type { AgentServices } from "../services.js";

/**
 * Hands events to who waits for them. A network that has changed otherwise is connected as it is now; nobody waits for that, so
 * that an error is logged.
 */
export async function hearEvents(
  { ports, driver, conductor, host, logger }: AgentServices,
  { instanceUuid, events }: ParamsOf<AgentMethods, "external_instance_event">,
): Promise<null> {
  for (const event of events) {
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
