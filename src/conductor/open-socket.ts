import { HttpConnectFailure } from "../runtime/http.js";
import { type Socket, type Sockets, UpgradeRefused } from "../runtime/socket.js";
import type { Timers } from "../runtime/timers.js";
import { ConductorUnreachable, JoinTokenRefused } from "./errors.js";
import { CONDUCTOR_PATH } from "./wire/frames.js";

/** `http://host:port` or `ws://…` as the address of the conductor's WebSocket there. */
export function conductorUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  const scheme = protocol === "https:" || protocol === "wss:" ? "wss" : "ws";
  const path = pathname.replace(/\/+$/, "");
  return `${scheme}://${host}${path.endsWith(CONDUCTOR_PATH) ? path : `${path}${CONDUCTOR_PATH}`}`;
}

/**
 * Opens a socket to the conductor.
 * @throws {JoinTokenRefused} trying again cannot help.
 * @throws {ConductorUnreachable} anything else.
 */
export async function openSocket(
  url: string,
  joinToken: string,
  doors: { readonly sockets: Sockets; readonly timers: Timers },
  limits: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const { timeout, signal } = limits;
  const late = new AbortController();
  const cancel = doors.timers.after(timeout, () => late.abort(new Error(`no answer within ${timeout} ms`)));
  const stop = () => late.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await doors.sockets.connect(url, {
      headers: { authorization: `Bearer ${joinToken}` },
      signal: late.signal,
    });
  } catch (error) {
    throw translate(error, url);
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}

function translate(error: unknown, url: string): Error {
  if (error instanceof UpgradeRefused && error.status === 401) {
    return new JoinTokenRefused(`the conductor at ${url} refused this agent: ${error.body}`);
  }
  if (error instanceof HttpConnectFailure) {
    return new ConductorUnreachable(`no control plane answers at ${url} (${error.code})`);
  }
  return new ConductorUnreachable(error instanceof Error ? error.message : String(error));
}
