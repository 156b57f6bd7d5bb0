import type { ActionBody, ActionResponse } from "../wire/actions.js";
import type { RequestBodies } from "../wire/request-rows.js";
import type { ServerLife } from "../wire/server-rows.js";
import { type DashboardLogin, SESSION_HEADER } from "../wire/stream.js";

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

/** Whether user and password are right. */
export async function enter(login: DashboardLogin): Promise<boolean> {
  const response = await fetch("/window/session", { method: "POST", headers: JSON_BODY, body: JSON.stringify(login) });
  return response.ok;
}

/** Ends the session, which the events say then. */
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
    return { ...createFailure(`the server answered ${response.status}`), ...payload };
  } catch {
    return createFailure("the server does not answer");
  }
}

const createFailure = (error: string): ActionResponse => ({
  ok: false,
  commands: [],
  error,
  lines: [],
  made: null,
  requestId: null,
});
