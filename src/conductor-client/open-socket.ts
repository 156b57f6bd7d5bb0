import { HttpConnectFailure } from "../runtime/http.js";
import { type Socket, type Sockets, UpgradeRejectedError } from "../runtime/sockets.js";
import type { Timers } from "../runtime/time.js";
import { ConductorUnreachable, JoinTokenRejected } from "./errors.js";
import { CONDUCTOR_PATH } from "./wire/frames.js";

/** How a message begins when something answers, and TLS is what is wrong; it says what to do. */
export const NO_TLS = "no TLS with the control plane";

/** `http://host:port` or `ws://…` as the address of the conductor's WebSocket there. */
export function conductorUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  const scheme = protocol === "https:" || protocol === "wss:" ? "wss" : "ws";
  const path = pathname.replace(/\/+$/, "");
  return `${scheme}://${host}${path.endsWith(CONDUCTOR_PATH) ? path : `${path}${CONDUCTOR_PATH}`}`;
}

/**
 * Opens a socket to the conductor.
 * @throws {JoinTokenRejected} trying again cannot help.
 * @throws {ConductorUnreachable} anything else.
 */
export async function openSocket(
  url: string,
  joinToken: string,
  deps: { readonly sockets: Sockets; readonly timers: Timers },
  limits: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const { timeout, signal } = limits;
  const late = new AbortController();
  const cancel = deps.timers.after(timeout, () => late.abort(new Error(`no answer within ${timeout} ms`)));
  const stop = () => late.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await deps.sockets.connect(url, {
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
  if (error instanceof UpgradeRejectedError && error.status === 401) {
    return new JoinTokenRejected(`the conductor at ${url} refused this agent: ${error.body}`);
  }
  if (error instanceof UpgradeRejectedError && /speaks TLS/.test(error.body)) {
    const secure = url.replace(/^ws:/, "wss:");
    return new ConductorUnreachable(
      `${NO_TLS} at ${url}: that port speaks TLS: name it by ${secure}, with its CA in [conductor] cafile`,
    );
  }
  if (error instanceof HttpConnectFailure && error.tls !== undefined) {
    return new ConductorUnreachable(`${NO_TLS} at ${url}: ${error.tls} (${error.code})`);
  }
  if (error instanceof HttpConnectFailure) {
    return new ConductorUnreachable(`no control plane answers at ${url} (${error.code})`);
  }
  return new ConductorUnreachable(error instanceof Error ? error.message : String(error));
}
