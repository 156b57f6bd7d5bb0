import { recordMethods } from "../../../../src/cluster/conductor/methods/record-methods.js";
import type { Store } from "../../../../src/cluster/store/store.js";
import { HostLeaseHeld, MessagingTimeout } from "../../../../src/conductor/errors.js";
import type { AgentHandlers, HostSession } from "../../../../src/conductor/port.js";
import type { VirtualRuntime } from "../../../../src/runtime/virtual/index.js";

/** What the sessions of one control plane share. */
export class SessionHub {
  readonly leases = new Map<string, StoreSession>();
  readonly handlers = new Map<string, AgentHandlers>();
  readonly writes: { readonly host: string; readonly method: string; readonly params: unknown }[] = [];
  /** Called before each method; a throw is the method's answer. */
  onCall: (host: string, method: string, params: unknown) => void = () => {};
}

const READS = /^(service_get|service_minimum|compute_nodes_by|compute_node_get|instance_get|instances_by|instance_actions|migration_get|migrations_)/;

/** A host's session straight on the store, without a wire. */
export class StoreSession {
  readonly #hub: SessionHub;
  readonly #runtime: VirtualRuntime;
  readonly host: string;
  readonly session: HostSession;
  #lose: (reason: string) => void = () => {};
  #held = false;
  #closed = false;

  constructor(options: { host: string; store: Store; hub: SessionHub; runtime: VirtualRuntime }) {
    const { host, store, hub, runtime } = options;
    this.host = host;
    this.#hub = hub;
    this.#runtime = runtime;
    // The table is typed by method; here the method is only known at run time.
    const methods = {
      ...recordMethods(store),
      sync_instance_info: { writes: false, run: () => null },
      stop_instance: { writes: true, run: () => null },
      build_instances: { writes: true, run: () => null },
    } as unknown as Record<string, { run: (params: unknown, caller: unknown) => unknown }>;
    const leaseLost = new Promise<string>((resolve) => {
      this.#lose = (reason) => {
        this.#held = false;
        resolve(reason);
      };
    });
    const self = this;
    this.session = {
      host,
      get leaseHeld() {
        return self.#held;
      },
      leaseLost,
      call: (method, params) =>
        this.#whileAlive(() => {
          hub.onCall(host, method, params);
          if (!READS.test(method)) hub.writes.push({ host, method, params });
          return structuredClone(methods[method]?.run(params, { requestId: "req-test", host })) as never;
        }),
      callAgent: (to, method, params, callOptions) =>
        this.#whileAlive(async () => {
          hub.onCall(host, method, params);
          const handlers = hub.handlers.get(to);
          if (!handlers) throw new MessagingTimeout(`no agent serves host ${to}`);
          return (await handlers[method](params, { requestId: callOptions?.requestId ?? "req-test" })) as never;
        }),
      castAgent: () => this.#whileAlive(() => undefined),
      acquireLease: () => this.#whileAlive(() => this.#acquire()),
      serve: (handlers) =>
        this.#whileAlive(() => {
          hub.handlers.set(host, handlers);
        }),
      stopServing: () =>
        this.#whileAlive(() => {
          hub.handlers.delete(host);
        }),
      close: async () => this.release(),
    };
  }

  /** Another agent took the host. */
  loseLease(reason: string): void {
    this.#lose(reason);
  }

  release(): void {
    this.#closed = true;
    this.#held = false;
    if (this.#hub.leases.get(this.host) === this) {
      this.#hub.leases.delete(this.host);
      this.#hub.handlers.delete(this.host);
    }
  }

  #acquire(): void {
    const holder = this.#hub.leases.get(this.host);
    if (holder && holder !== this) {
      throw new HostLeaseHeld(`the lease of host ${this.host} is held by pid 4711`, { pid: 4711 });
    }
    this.#hub.leases.set(this.host, this);
    this.#held = true;
  }

  async #whileAlive<T>(work: () => T | Promise<T>): Promise<T> {
    await Promise.resolve();
    if (!this.#runtime.alive) return new Promise(() => {});
    if (this.#closed) throw new Error("the session is closed");
    try {
      const result = await work();
      return this.#runtime.alive ? result : await new Promise(() => {});
    } catch (error) {
      if (!this.#runtime.alive) return new Promise(() => {});
      throw error;
    }
  }
}
