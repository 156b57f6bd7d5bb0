import type { HostSession } from "../../../../src/conductor-client/port.js";

/** Called before each call is sent. */
export type BeforeCall = (host: string, method: string, params: unknown) => void | Promise<void>;

/** Wraps a session so that its calls can be recorded and made to fail. */
export function recordSession(session: HostSession, before: BeforeCall, after: BeforeCall): HostSession {
  return {
    host: session.host,
    get leaseHeld() {
      return session.leaseHeld;
    },
    get leaseEpoch() {
      return session.leaseEpoch;
    },
    leaseLost: session.leaseLost,
    leaseSettled: () => session.leaseSettled(),
    call: async (method, params, options) => {
      await before(session.host, method, params);
      const result = await session.call(method, params, options);
      await after(session.host, method, params);
      return result;
    },
    callAgent: async (host, method, params, options) => {
      await before(session.host, method, params);
      const result = await session.callAgent(host, method, params, options);
      await after(session.host, method, params);
      return result;
    },
    castAgent: async (host, method, params, options) => {
      await before(session.host, method, params);
      return session.castAgent(host, method, params, options);
    },
    acquireLease: () => session.acquireLease(),
    serve: async (handlers) => {
      await before(session.host, "host_serve", null);
      await session.serve(handlers);
    },
    stopServing: () => session.stopServing(),
    drain: async (handlers) => {
      if (handlers !== null) {
        await before(session.host, "host_serve", null);
      }
      await session.drain(handlers);
    },
    guestsChanged: () => session.guestsChanged?.(),
    close: () => session.close(),
  };
}
