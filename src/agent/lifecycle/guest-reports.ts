import { ConductorError } from "../../conductor-client/errors.js";
import type { AgentMethods, InstanceParams } from "../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../conductor-client/methods/method.js";
import { type HypervisorGuest, type Instance, POWER_STATES, type PowerState } from "../../records/index.js";
import { GuestNotFound, NotImplemented } from "../../virt/errors.js";
import type { AgentServices } from "../services.js";

type Services = Pick<AgentServices, "driver" | "conductor" | "host">;

/** Spec 6.10: returns the host's uptime, for users. @throws {NotImplementedError} the driver does not support it */
export function hostUptime({ driver }: Services): Promise<string> {
  return translateErrors(driver.getHostUptime());
}

/** @throws {InstanceNotFound} NotImplementedError */
export async function consoleOutput(
  services: Services,
  { tailLength, ...params }: ParamsOf<AgentMethods, "get_console_output">,
): Promise<string> {
  const output = await translateErrors(services.driver.getConsoleOutput(await instanceHere(services, params)));
  return tailLength === null ? output : tail(output, tailLength);
}

/** @throws {InstanceNotFound} InstanceInvalidState NotImplementedError */
export async function diagnostics(
  services: Services,
  params: InstanceParams,
): Promise<Readonly<Record<string, unknown>>> {
  return translateErrors(services.driver.getDiagnostics(await runningHere(services, params)));
}

/** @throws as {@link diagnostics} */
export async function instanceDiagnostics(
  services: Services,
  params: InstanceParams,
): Promise<ResultOf<AgentMethods, "get_instance_diagnostics">> {
  const found = await translateErrors(services.driver.getInstanceDiagnostics(await runningHere(services, params)));
  return { ...found, state: "running" };
}

/** Reads the instance again: it may have moved since the request was sent. */
async function instanceHere(
  { conductor, host }: Services,
  { instanceUuid: uuid, requestId }: InstanceParams,
): Promise<Instance> {
  const instance = await conductor.call("instance_get", { uuid }, { requestId });
  if (instance === null || instance.host !== host) {
    throw new ConductorError("InstanceNotFound", `Instance ${uuid} could not be found.`, { instance_uuid: uuid });
  }
  return instance;
}

async function runningHere(services: Services, params: InstanceParams): Promise<Instance> {
  const instance = await instanceHere(services, params);
  const power = await services.driver.powerState(instance);
  if (power !== POWER_STATES.running) {
    const [state = "nostate"] = Object.entries(POWER_STATES).find(([, value]) => value === power) ?? [];
    const displayState = state === "nostate" ? "pending" : state;
    throw new ConductorError(
      "InstanceInvalidState",
      `Instance ${instance.uuid} in power state ${displayState}. Cannot get_diagnostics while the instance is in this state.`,
      { attr: "power state", instance_uuid: instance.uuid, state: displayState, method: "get_diagnostics" },
    );
  }
  return instance;
}

/** Converts the driver's errors into those that the API distinguishes. */
async function translateErrors<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof NotImplemented) {
      throw new ConductorError("NotImplementedError", error.message);
    }
    if (error instanceof GuestNotFound) {
      throw new ConductorError("InstanceNotFound", error.message);
    }
    throw error;
  }
}

/**
 * Returns the last lines. As in Nova, the empty line after the last line feed counts, and a negative number skips lines
 * at the beginning.
 */
function tail(output: string, lines: number): string {
  return lines === 0 ? "" : output.split("\n").slice(-lines).join("\n");
}

const STATES: Readonly<Record<PowerState, string>> = {
  [POWER_STATES.nostate]: "unknown",
  [POWER_STATES.running]: "running",
  [POWER_STATES.paused]: "paused",
  [POWER_STATES.shutdown]: "shut off",
  [POWER_STATES.crashed]: "crashed",
  [POWER_STATES.suspended]: "suspended",
};

/** Lists the driver's guests on this host, for users. A guest of an unknown instance is listed by its uuid. */
export async function listGuests({
  driver,
  conductor,
}: Pick<AgentServices, "driver" | "conductor">): Promise<HypervisorGuest[]> {
  const uuids = await driver.listInstanceUuids();
  if (uuids.length === 0) {
    return [];
  }
  const instances = await conductor.call("instances_by_filters", { filters: { uuids: [...uuids] } });
  const known = new Map(instances.map((instance) => [instance.uuid, instance]));
  const guests: HypervisorGuest[] = [];
  for (const uuid of uuids) {
    const instance = known.get(uuid);
    const state = instance === undefined ? POWER_STATES.nostate : await driver.powerState(instance);
    guests.push({ uuid, name: instance?.displayName || uuid, state: STATES[state] });
  }
  return guests;
}
