import { isObject } from "../../../../runtime/collections.js";
import { badRequest, notFound } from "../../../http/http-error.js";
import type { Call, ComputeResponse } from "../../api/call.js";
import { MAX_MICROVERSION } from "../../api/versions.js";
import { addFloatingIp, removeFloatingIp } from "../../floating-ips.js";
import { forceDelete, restore } from "../delete-server.js";
import { consoleOutput } from "../diagnostics.js";
import { addFixedIp, removeFixedIp } from "../network/addresses.js";
import { addSecurityGroup, removeSecurityGroup } from "../network/security-groups.js";
import { changePassword } from "../passwords.js";
import { consoleActions } from "../remote-consoles.js";
import { injectNetworkInfo, lock, resetNetwork, resetState, triggerCrashDump, unlock } from "./admin-actions.js";
import { createBackup, createImage } from "./create-image.js";
import { evacuate } from "./evacuate.js";
import { liveMigrate, migrate } from "./migrate.js";
import { agentActions, reboot } from "./power-actions.js";
import { rebuild } from "./rebuild.js";
import { rescue } from "./rescue.js";
import { confirmResize, resize, revertResize } from "./resize.js";
import type { ServerAction } from "./server-action.js";
import { shelve, shelveOffload, unshelve } from "./shelve.js";

const ACTIONS: readonly ServerAction[] = [
  ...agentActions,
  reboot,
  rescue,
  lock,
  unlock,
  resetState,
  resetNetwork,
  injectNetworkInfo,
  triggerCrashDump,
  addFixedIp,
  removeFixedIp,
  addFloatingIp,
  removeFloatingIp,
  migrate,
  resize,
  confirmResize,
  revertResize,
  liveMigrate,
  evacuate,
  rebuild,
  shelve,
  shelveOffload,
  unshelve,
  createImage,
  createBackup,
  addSecurityGroup,
  removeSecurityGroup,
  changePassword,
  consoleOutput,
  ...consoleActions,
  restore,
  forceDelete,
];

const BY_NAME = new Map(ACTIONS.map((action) => [action.name, action]));

/** Handles POST /servers/{id}/action. The checks and writes of an action are one transaction. */
export function runAction(call: Call): ComputeResponse | Promise<ComputeResponse> {
  const body = call.json();
  const [name] = isObject(body) ? Object.keys(body) : [];
  if (name === undefined) {
    throw badRequest("Malformed request body");
  }
  const action = BY_NAME.get(name);
  if (!action) {
    throw badRequest(`There is no such action: ${name}`);
  }
  if (call.version < (action.from ?? 0) || call.version > (action.until ?? MAX_MICROVERSION)) {
    throw notFound();
  }
  call.body(action.schema);
  if ("ask" in action) {
    return action.ask(call);
  }
  const response = call.store.transaction(() => action.run(call));
  call.deps.wake();
  return response;
}
