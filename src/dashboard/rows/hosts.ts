import { isUp } from "../../conductor-client/liveness.js";
import type { HostAgent } from "../../control-plane/conductor/methods/host-methods.js";
import type { Store } from "../../control-plane/store/store.js";
import { RELEASES, type Service } from "../../records/index.js";
import { append } from "../../runtime/collections.js";
import type { Clock } from "../../runtime/time.js";
import type { HostRow } from "../wire/rows.js";

const BINARY = "nova-compute";
/** Exit code of an agent that refuses to start. */
const REJECTED_EXIT_CODE = 3;
/** Maximum number of nodes listed per host. */
const MAX_NODES = 100;

interface HostsDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  /** Milliseconds. */
  readonly downTime: number;
  /** Returns the faults that are set for a host. */
  readonly faults: (host: string) => readonly string[];
}

interface Agent {
  readonly state: NonNullable<HostRow["agent"]>;
  readonly reason: string;
}

/** The hosts: their nova-compute services with further data, and agents that have no service yet. */
export class Hosts {
  readonly #deps: HostsDeps;
  readonly #agents = new Map<string, Agent>();
  readonly #nameById = new Map<number, string>();
  readonly #aggregates = new Map<string, readonly string[]>();
  /** Whether a host was up when it was last read, and the service record on which that is based. */
  readonly #liveness = new Map<string, { readonly up: boolean; readonly service: Service }>();

  constructor(deps: HostsDeps) {
    this.#deps = deps;
  }

  /** Drops all cached state when the last viewer leaves. */
  clear(): void {
    for (const map of [this.#agents, this.#nameById, this.#aggregates, this.#liveness]) {
      map.clear();
    }
  }

  /** Returns the host of a service, or undefined if the service is not nova-compute. */
  nameOf(serviceId: number): string | undefined {
    const service = this.#deps.store.services.get(serviceId);
    if (service?.binary === BINARY) {
      this.#nameById.set(service.id, service.host);
    }
    return this.#nameById.get(serviceId);
  }

  read(host: string): HostRow | undefined {
    const { store } = this.#deps;
    const service = store.services.getByHost(host, BINARY);
    if (service === null) {
      this.#liveness.delete(host);
      const agent = this.#agents.get(host);
      return agent === undefined ? undefined : { ...NEVER_SERVED, host, agent: agent.state, reason: agent.reason };
    }
    return this.#row(service);
  }

  heartbeat(host: string): number | null | undefined {
    const service = this.#deps.store.services.getByHost(host, BINARY);
    return service === null ? undefined : service.lastSeenUp;
  }

  /** Iterates over all hosts and their last heartbeats, reading a few at a time. */
  *all(): Generator<readonly [row: HostRow, observedAt: number | null]> {
    const { store } = this.#deps;
    for (const host of this.#agents.keys()) {
      const row = store.services.getByHost(host, BINARY) === null ? this.read(host) : undefined;
      if (row !== undefined) {
        yield [row, null];
      }
    }
    for (let after = 0; ; ) {
      const page = store.services.list({ binary: BINARY, after, limit: 50 });
      for (const service of page) {
        yield [this.#row(service), service.lastSeenUp];
      }
      const last = page.at(-1);
      if (last === undefined) {
        return;
      }
      after = last.id;
    }
  }

  /** Returns the hosts whose state has changed by time alone since they were read. */
  turned(): readonly string[] {
    const options = this.#upOptions();
    return [...this.#liveness].flatMap(([host, { up, service }]) => (isUp(service, options) === up ? [] : [host]));
  }

  /** Notes a change of the host's service. Returns true if more than its heartbeat has changed. */
  noteHeartbeat(host: string): boolean {
    const service = this.#deps.store.services.getByHost(host, BINARY);
    const before = this.#liveness.get(host);
    if (service === null || before === undefined) {
      return true;
    }
    const up = isUp(service, this.#upOptions());
    this.#liveness.set(host, { up, service });
    return up !== before.up || toStatusKey(service) !== toStatusKey(before.service);
  }

  /** @returns the hosts whose agent state has changed */
  noteAgents(rows: readonly HostAgent[]): readonly string[] {
    const now = new Map(
      rows.map(({ host, state, reason, exitCode }): [string, Agent] => [
        host,
        { state: state === "failed" && exitCode === REJECTED_EXIT_CODE ? "refused" : state, reason },
      ]),
    );
    const changed = [...new Set([...this.#agents.keys(), ...now.keys()])].filter((host) => {
      const [before, after] = [this.#agents.get(host), now.get(host)];
      return before?.state !== after?.state || before?.reason !== after?.reason;
    });
    this.#agents.clear();
    for (const [host, agent] of now) {
      this.#agents.set(host, agent);
    }
    return changed;
  }

  /** @returns the hosts whose aggregates have changed */
  noteAggregates(): readonly string[] {
    const now = new Map<string, string[]>();
    for (const { name, hosts } of this.#deps.store.aggregates.list()) {
      for (const host of hosts) {
        append(now, host, name);
      }
    }
    const all = new Set([...now.keys(), ...this.#aggregates.keys()]);
    const changed = [...all].filter((host) => String(now.get(host)) !== String(this.#aggregates.get(host)));
    this.#aggregates.clear();
    for (const [host, names] of now) {
      this.#aggregates.set(host, names);
    }
    return changed;
  }

  #row(service: Service): HostRow {
    const { store, faults } = this.#deps;
    const { host } = service;
    const up = isUp(service, this.#upOptions());
    this.#nameById.set(service.id, host);
    this.#liveness.set(host, { up, service });
    const agent = this.#agents.get(host);
    const reasons = [service.disabled ? service.disabledReason : null, agent?.reason ?? null];
    return {
      host,
      state: up ? "up" : "down",
      registered: true,
      enabled: !service.disabled,
      reason: reasons.filter((reason) => reason !== null && reason !== "").join("; "),
      forcedDown: service.forcedDown,
      agent: agent?.state ?? null,
      zone: service.availabilityZone,
      aggregates: this.#aggregates.get(host) ?? [],
      nodes: store.computeNodes.uuidsOf(host, MAX_NODES),
      faults: faults(host),
      version: service.version,
      release: releaseOf(service.version),
    };
  }

  #upOptions() {
    return { now: this.#deps.clock.now(), serviceDownTime: this.#deps.downTime };
  }
}

/** The row of a host without a service. */
const NEVER_SERVED: Omit<HostRow, "host" | "agent" | "reason"> = {
  state: "down",
  registered: false,
  enabled: true,
  forcedDown: false,
  zone: "",
  aggregates: [],
  nodes: [],
  faults: [],
  version: 0,
  release: null,
};

/** Returns a key of the service's displayed fields, excluding its heartbeats. */
function toStatusKey({ disabled, disabledReason, forcedDown, version, availabilityZone }: Service): string {
  return JSON.stringify([disabled, disabledReason, forcedDown, version, availabilityZone]);
}

/** Returns the newest release of this service version, by its own name. */
function releaseOf(version: number): string | null {
  const named = Object.entries(RELEASES).filter(([name]) => name !== "master");
  return named.findLast(([, level]) => level === version)?.[0] ?? null;
}
