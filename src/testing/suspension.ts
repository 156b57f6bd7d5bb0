import type { DriverContext, Stream } from "../virt/index.js";
import { ANSWERS_AT_ONCE, CHANGES_NOTHING, LOOKS_AT_PROGRAMS, LOOKS_AT_STREAMS } from "./sabotage.js";

/** Lets a driver be suspended at a chosen call of its doors: as by SIGSTOP, nothing goes on until it is resumed. */
export class Suspension {
  #left = Number.POSITIVE_INFINITY;
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};
  #reach: () => void = () => {};

  /** The call numbered `call` from now on, of those that may change something, waits, and all after it. */
  arm(call: number): { readonly reached: Promise<void> } {
    this.#left = call;
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
    return {
      reached: new Promise((resolve) => {
        this.#reach = resolve;
      }),
    };
  }

  resume(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#resume();
  }

  /** The doors behind which something is changed: files, HTTP, programs, sockets, and those of the driver's own. */
  over(context: DriverContext): DriverContext {
    const { files, http, processes, sockets } = context;
    return {
      ...context,
      files: this.#slowed(files, CHANGES_NOTHING),
      http: this.#slowed(http, CHANGES_NOTHING),
      processes: this.#slowed(processes, LOOKS_AT_PROGRAMS),
      sockets: this.#slowed(
        { connect: async (...args) => this.#slowed<Stream>(await sockets.connect(...args), LOOKS_AT_STREAMS) },
        LOOKS_AT_STREAMS,
      ),
      ownDoor: (door, looks = []) => this.#slowed(context.ownDoor(door, looks), new Set(looks)),
    };
  }

  #slowed<Door extends object>(door: Door, looks: ReadonlySet<string | symbol>): Door {
    return new Proxy(door, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (ANSWERS_AT_ONCE.has(name)) {
          return member.bind(target);
        }
        return async (...args: unknown[]) => {
          if (!looks.has(name)) {
            this.#left -= 1;
          }
          if (this.#left <= 0) {
            this.#reach();
            await this.#resumed;
          }
          return Reflect.apply(member, target, args);
        };
      },
    });
  }
}
