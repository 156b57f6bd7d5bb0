import type { DriverContext, Stream } from "../virt/index.js";

/** What only looks: being killed before it is being killed after what came before. */
export const CHANGES_NOTHING: ReadonlySet<string | symbol> = new Set([
  "read",
  "readBytes",
  "readIfPresent",
  "list",
  "stat",
]);

/** The same of programs and of streams. */
export const READ_ONLY_PROGRAM_METHODS: ReadonlySet<string | symbol> = new Set(["look", "ended"]);
export const READ_ONLY_STREAM_METHODS: ReadonlySet<string | symbol> = new Set(["connect", "read", "readLine"]);

/** How a door is broken. */
interface Break {
  /** Methods that change nothing. */
  readonly readOnlyMethods: ReadonlySet<string | symbol>;
  /** A call may break after it has done its work, too: the process runs, and nobody has heard of it. */
  readonly losesResponses: boolean;
}

/** Lets a driver's way to the world break at a chosen call: as `kill -9` of the agent does, nothing after that gets out. */
export class Sabotage {
  /** Calls that may have changed something since it was armed; those whose answer may be lost count twice. */
  calls = 0;
  #fatal = Number.POSITIVE_INFINITY;
  #die: () => void = () => {};

  /** The call numbered `fatal` from now on, and all after it, fail. @param die is called at that call, and may not return. */
  arm(fatal: number, die: () => void = () => {}): void {
    this.calls = 0;
    this.#fatal = fatal;
    this.#die = die;
  }

  disarm(): void {
    this.#fatal = Number.POSITIVE_INFINITY;
  }

  /** The call was reached. */
  get struck(): boolean {
    return this.calls >= this.#fatal;
  }

  /** The doors behind which something is changed: files, HTTP, programs, sockets, and those of the driver's own. */
  over(context: DriverContext): DriverContext {
    const { files, http, processes, sockets } = context;
    const guardAdapter: DriverContext["ownAdapter"] = (adapter, readOnlyMethods = []) =>
      this.#guard(adapter, { readOnlyMethods: new Set(readOnlyMethods), losesResponses: true });
    const streams = { readOnlyMethods: READ_ONLY_STREAM_METHODS, losesResponses: true };
    return {
      ...context,
      files: this.#guard(files, { readOnlyMethods: CHANGES_NOTHING, losesResponses: false }),
      http: this.#guard(http, { readOnlyMethods: CHANGES_NOTHING, losesResponses: false }),
      processes: this.#guard(processes, { readOnlyMethods: READ_ONLY_PROGRAM_METHODS, losesResponses: true }),
      sockets: this.#guard(
        { connect: async (...args) => this.#guard<Stream>(await sockets.connect(...args), streams) },
        streams,
      ),
      ownAdapter: guardAdapter,
      ownDoor: guardAdapter,
    };
  }

  #guard<Adapter extends object>(adapter: Adapter, { readOnlyMethods, losesResponses }: Break): Adapter {
    return new Proxy(adapter, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (SYNCHRONOUS_METHODS.has(name)) {
          return member.bind(target);
        }
        return async (...args: unknown[]): Promise<unknown> => {
          this.#strike(readOnlyMethods.has(name));
          const result: unknown = await Reflect.apply(member, target, args);
          if (losesResponses) {
            this.#strike(readOnlyMethods.has(name));
          }
          return result;
        };
      },
    });
  }

  /** @throws the agent is dead. */
  #strike(isReadOnly: boolean): void {
    if (!this.struck && !isReadOnly) {
      this.calls += 1;
    }
    if (this.struck) {
      this.#die();
      throw new Error("sabotage: the agent was killed here");
    }
  }
}

/** Watching, and closing a stream, which the death of the agent does as well. */
export const SYNCHRONOUS_METHODS: ReadonlySet<string | symbol> = new Set(["watch", "close"]);
