import { fillCommand, isEmptyValue } from "../wire/command-lines.js";
import {
  type ActionBody,
  type ActionChoices,
  type ActionResponse,
  type DashboardAction,
  type DashboardLogin,
  SESSION_HEADER,
} from "../wire/messages.js";
import type { RequestBodies, ServerLife } from "../wire/rows.js";

const JSON_BODY = { "content-type": "application/json" };

async function read<T>(path: string): Promise<T | null> {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  return response.ok ? ((await response.json()) as T) : null;
}

export function serverLife(uuid: string): Promise<ServerLife | null> {
  return read(`/window/servers/${encodeURIComponent(uuid)}`);
}

export function requestBodies(id: string): Promise<RequestBodies | null> {
  return read(`/window/requests/${encodeURIComponent(id)}`);
}

/** Returns the images, networks and zones of the cluster; null if they cannot be read. */
export function actionChoices(): Promise<ActionChoices | null> {
  return read("/window/choices");
}

/** Begins a session. Returns whether user and password are valid. */
export async function enter(login: DashboardLogin): Promise<boolean> {
  const response = await fetch("/window/session", { method: "POST", headers: JSON_BODY, body: JSON.stringify(login) });
  return response.ok;
}

/** Ends the session. The event stream then reports its end. */
export async function leave(secret: string): Promise<void> {
  await fetch("/window/session", { method: "DELETE", headers: { [SESSION_HEADER]: secret } });
}

export async function act(name: string, body: ActionBody, secret: string): Promise<ActionResponse> {
  try {
    const response = await fetch(`/window/actions/${encodeURIComponent(name)}`, {
      method: "POST",
      headers: { ...JSON_BODY, [SESSION_HEADER]: secret },
      body: JSON.stringify(body),
    });
    const payload = (await response.json().catch(() => null)) as Partial<ActionResponse> | null;
    return { ...createFailure(`The control plane rejected the request (${response.status}).`), ...payload };
  } catch {
    return createFailure("The control plane does not respond.");
  }
}

const createFailure = (error: string): ActionResponse => ({
  ok: false,
  commands: [],
  error,
  code: null,
  lines: [],
  made: null,
  requestId: null,
});

/**
 * Returns the command lines of an action with the values of its fields. A field without a value remains as `{host}`.
 */
export function commandsOf({ commands }: DashboardAction, body: ActionBody): readonly string[] {
  return commands.map((command) => fillCommand(command, body, quoted, (field) => field));
}

/** Returns the labels of missing fields, or "" if the action can be sent. */
export function missingOf({ fields }: DashboardAction, body: ActionBody): string {
  const missing = fields.filter(({ name, required, type }) => required && type !== "flag" && isEmptyValue(body[name]));
  return missing.map(({ label }) => label).join(", ");
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
