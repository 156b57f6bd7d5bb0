import { ConductorUnreachable, MessagingTimeout } from "../../../conductor-client/errors.js";
import type { HostSession } from "../../../conductor-client/port.js";

/** The conductor did not answer, and may have done what it was asked all the same. */
export function isSilence(error: unknown): boolean {
  return error instanceof MessagingTimeout || error instanceof ConductorUnreachable;
}

/** The same conductor; `onSilence` hears of each call that it did not answer, also of those whose error is only logged. */
export function watchConductor(conductor: HostSession, onSilence: () => void): HostSession {
  return new Proxy(conductor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") {
        return value;
      }
      if (name !== "call") {
        return value.bind(target);
      }
      return async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(value, target, args);
        } catch (error) {
          if (isSilence(error)) {
            onSilence();
          }
          throw error;
        }
      };
    },
  });
}
