import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { inMaintenance, invalidState, nodeLocked, notAcceptable } from "../ironic-error.js";
import type { IronicNode } from "../node-store.js";
import { CLIENT_EVENTS, eventOf, nextState } from "../provision-states.js";
import { booleanArgument, type IronicCall, type IronicResponse, type IronicRoute, integerArgument } from "./call.js";
import { nodeOf } from "./node-routes.js";
import { statesView } from "./node-view.js";

/** The first minor version of each target. */
const VERB_MINORS: Readonly<Record<string, number>> = {
  manage: 4,
  provide: 4,
  inspect: 6,
  adopt: 17,
  rescue: 38,
  unrescue: 38,
  deploy: 73,
  undeploy: 73,
};

const POWER_TARGETS = ["power on", "power off", "rebooting", "soft rebooting", "soft power off"];

/** Routes of provision state, power, maintenance and console. */
export const STATE_ROUTES = routes<IronicRoute>({
  "GET /nodes/:node/states": (call) => ({ body: statesView(nodeOf(call), call.minor) }),
  "PUT /nodes/:node/states/provision": async (call) => {
    await provision(call);
    return accepted(call);
  },
  "PUT /nodes/:node/states/power": async (call) => {
    const node = nodeOf(call);
    await call.conductor.setPower(node.uuid, powerTarget(call, node));
    return accepted(call);
  },
  "GET /nodes/:node/states/console": (call) => ({
    body: { console_enabled: nodeOf(call).console_enabled, console_info: null },
  }),
  "PUT /nodes/:node/states/console": async (call) => {
    const enabled = booleanArgument("enabled", mandatory(call, "enabled"));
    await call.conductor.update(nodeOf(call).uuid, { console_enabled: enabled });
    return accepted(call, "states/console");
  },
  "PUT /nodes/:node/maintenance": async (call) => {
    const reason = textField(call, "reason") ?? null;
    await call.conductor.update(nodeOf(call).uuid, { maintenance: true, maintenance_reason: reason });
    return { status: 202 };
  },
  "DELETE /nodes/:node/maintenance": async (call) => {
    await call.conductor.update(nodeOf(call).uuid, { maintenance: false });
    return { status: 202 };
  },
});

function accepted({ root, params }: IronicCall, suffix = "states"): IronicResponse {
  return { status: 202, location: `${root}/v1/nodes/${params.node}/${suffix}` };
}

async function provision(call: IronicCall): Promise<void> {
  const { minor, locks, conductor } = call;
  const target = mandatoryText(call, "target");
  const node = nodeOf(call);
  if (minor < (VERB_MINORS[target] ?? 1)) {
    throw notAcceptable();
  }
  if (["active", "rebuild"].includes(target) && node.maintenance) {
    throw inMaintenance("provisioning", node.uuid);
  }
  const event = eventOf(target);
  if (nextState(node.provision_state, event) === undefined) {
    const holder = locks.holder(node.uuid);
    if (holder !== null) {
      throw nodeLocked(node.uuid, holder);
    }
    throw invalidState(target, node.uuid, node.provision_state);
  }
  if (!CLIENT_EVENTS.has(event)) {
    throw badRequest(`The requested action "${target}" could not be understood.`);
  }
  const configdrive = isObject(call.body) ? call.body.configdrive : undefined;
  checkConfigDrive(target, configdrive, minor);
  checkRescuePassword(target, textField(call, "rescue_password"));
  // Stored as a placeholder: nothing reads its content, and Ironic does not return it either.
  const changes = configdrive ? { instance_info: { ...node.instance_info, configdrive: "kept" } } : {};
  await conductor.provision(node.uuid, event, changes);
}

function checkConfigDrive(target: string, configdrive: unknown, minor: number): void {
  if (configdrive === undefined || configdrive === null || configdrive === "") {
    return;
  }
  const allowed = minor < 35 ? ["active"] : ["active", "rebuild"];
  if (!allowed.includes(target)) {
    const targets = allowed.join(", ");
    throw badRequest(`Adding a config drive is only supported when setting provision state to ${targets}`);
  }
  if (typeof configdrive !== "string" && !isObject(configdrive)) {
    throw badRequest("Invalid configdrive format: expected text or an object");
  }
  if (isObject(configdrive) && minor < 56) {
    throw badRequest("Providing a JSON object for configdrive is only supported starting with API version 1.56");
  }
}

function checkRescuePassword(target: string, password: string | undefined): void {
  if (target === "rescue" && (password ?? "").trim() === "") {
    throw badRequest('A non-empty "rescue_password" is required when setting target provision state to rescue');
  }
  if (target !== "rescue" && password !== undefined) {
    throw badRequest('"rescue_password" is only valid when setting target provision state to rescue');
  }
}

function powerTarget(call: IronicCall, node: IronicNode): string {
  const target = mandatoryText(call, "target");
  const rawTimeout = isObject(call.body) ? call.body.timeout : undefined;
  const timeout = rawTimeout === undefined || rawTimeout === null ? undefined : integerArgument("timeout", rawTimeout);
  if ((target.startsWith("soft ") || timeout) && call.minor < 27) {
    throw notAcceptable();
  }
  if (timeout !== undefined && timeout < 1) {
    throw badRequest("timeout has to be positive integer");
  }
  const ident = call.params.node ?? "";
  if (!POWER_TARGETS.includes(target)) {
    throw invalidState(target, ident, node.power_state);
  }
  if (["cleaning", "clean wait"].includes(node.provision_state)) {
    throw invalidState(target, ident, node.provision_state);
  }
  return target;
}

function mandatory({ body }: IronicCall, name: string): unknown {
  const value = isObject(body) ? body[name] : undefined;
  if (value === undefined) {
    throw badRequest(`Missing mandatory parameter: ${name}`);
  }
  return value;
}

function mandatoryText(call: IronicCall, name: string): string {
  const value = mandatory(call, name);
  if (typeof value !== "string") {
    throw badRequest(`Expected string for ${name}: ${JSON.stringify(value)}`);
  }
  return value;
}

function textField({ body }: IronicCall, name: string): string | undefined {
  const value = isObject(body) ? body[name] : undefined;
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== "string") {
    throw badRequest(`Expected string for ${name}: ${JSON.stringify(value)}`);
  }
  return value;
}
