import type { Inside } from "../control-plane/extension.js";
import type { Runtime } from "../runtime/runtime.js";
import { Findings } from "./rows/findings.js";
import { Guests, type HostFolders } from "./rows/guests.js";
import { Hosts } from "./rows/hosts.js";
import { Networks } from "./rows/networks.js";
import { Consumers, Providers } from "./rows/placement.js";
import { type ReadSavedItems, SAVED_ITEM_KINDS, SavedItems } from "./rows/saved-items.js";
import { Flavors, Moves, serverRow } from "./rows/servers.js";
import { latestAction, ObservedStates } from "./server-lifecycle.js";
import type { DashboardRow, Kind, Rows } from "./wire/messages.js";

/** Milliseconds for an agent to list its guests. */
const AGENT_TIMEOUT_MS = 5_000;
/** Servers read at a time. */
const PAGE = 50;

export interface DashboardViewDeps {
  readonly inside: Inside;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random">;
  readonly folders: HostFolders;
  readonly savedItems: ReadSavedItems;
  /** Option of commands that selects the cluster, such as ` --name ci-7`; "" for the default cluster. */
  readonly clusterOption: string;
  /** Called with each row that may have changed without a change of a record. */
  readonly onChange: (kind: Kind, key: string) => void;
}

/** Provides the rows of everything that the page displays, read from their sources. */
export class DashboardView {
  readonly flavors: Flavors;
  readonly observed: ObservedStates;
  /** Undefined if Placement is external, as is `providers`. */
  readonly consumers: Consumers | undefined;
  readonly providers: Providers | undefined;
  readonly hosts: Hosts;
  readonly guests: Guests;
  readonly networks: Networks;
  readonly savedItems: SavedItems;
  /** Last known host of each server: when a server leaves a host, that host's guests are read again. */
  readonly homes = new Map<string, string>();
  readonly #moves: Moves;
  readonly #findings: Findings;
  readonly #deps: DashboardViewDeps;

  constructor(deps: DashboardViewDeps) {
    const { inside, runtime, folders, onChange } = deps;
    const { store, placement, bus } = inside;
    const { clock, timers, random } = runtime;
    this.#deps = deps;
    this.flavors = new Flavors(store);
    this.networks = new Networks(store);
    this.savedItems = new SavedItems(deps.savedItems, onChange);
    this.#moves = new Moves(store, this.flavors);
    this.observed = new ObservedStates(clock);
    this.#findings = new Findings(store, (key) => onChange("finding", key), deps.clusterOption);
    this.guests = new Guests({
      folders,
      clock,
      timers,
      ask: (host) =>
        bus.serves(host)
          ? bus.call(host, "list_guests", {}, { timeout: AGENT_TIMEOUT_MS, requestId: `req-${random.uuid()}` })
          : undefined,
      onRead: (host) => {
        onChange("guests", host);
        this.#findings.checkHost(host, this.guests.read(host));
      },
      onFaults: (host) => onChange("host", host),
    });
    const faults = (host: string) => this.guests.faults(host);
    this.hosts = new Hosts({ store, clock, downTime: inside.downTime, faults });
    if (placement !== undefined) {
      this.consumers = new Consumers(store, placement);
      this.providers = new Providers(placement, this.consumers, {
        hostOf: (uuid) => store.computeNodes.hostOf(uuid),
        onTraits: (key) => onChange("traits", key),
      });
    }
  }

  /** Drops all cached state when the last viewer leaves. */
  clear(): void {
    this.homes.clear();
    for (const known of [this.hosts, this.guests, this.#findings, this.savedItems, this.observed, this.flavors]) {
      known.clear();
    }
    this.consumers?.clear();
    this.providers?.clear();
  }

  /** Iterates over all rows, each read when it is requested. */
  *rows(): Generator<DashboardRow> {
    const { store, placement } = this.#deps.inside;
    for (const [key, value] of this.flavors.all()) {
      yield { kind: "flavor", key, value };
    }
    for (const [row, heartbeatAt] of this.hosts.all()) {
      yield { kind: "host", key: row.host, value: row };
      yield { kind: "heartbeat", key: row.host, value: heartbeatAt };
      if (this.guests.read(row.host) === undefined) {
        this.guests.look(row.host);
      }
    }
    for (let after = 0; ; ) {
      const page = store.instances.page({ after, limit: PAGE });
      for (const instance of page) {
        if (instance.host !== null) {
          this.homes.set(instance.uuid, instance.host);
        }
        this.checkServerAllocations(instance.uuid);
        yield { kind: "server", key: instance.uuid, value: serverRow(instance, store) };
      }
      const last = page.at(-1);
      if (last === undefined) {
        break;
      }
      after = last.id;
    }
    yield* this.#networkRows();
    for (const row of this.#moves.all()) {
      yield { kind: "migration", key: row.uuid, value: row };
    }
    for (const uuid of placement?.providers.keys() ?? []) {
      yield* this.#row("provider", uuid);
    }
    for (const [key, value] of this.providers?.allTraits ?? []) {
      yield { kind: "traits", key, value };
    }
    for (const uuid of placement?.consumers.keys() ?? []) {
      this.checkConsumer(uuid);
      yield* this.#row("consumer", uuid);
    }
    for (const [key, value] of this.guests.all) {
      yield { kind: "guests", key, value };
    }
    for (const kind of SAVED_ITEM_KINDS) {
      for (const key of this.savedItems.all[kind].keys()) {
        yield* this.#row(kind, key);
      }
    }
    for (const [key, value] of this.#findings.all) {
      yield { kind: "finding", key, value };
    }
  }

  *#networkRows(): Generator<DashboardRow> {
    for (const row of this.networks.networks()) {
      yield { kind: "network", key: row.uuid, value: row };
    }
    for (const row of this.networks.routers()) {
      yield { kind: "router", key: row.uuid, value: row };
    }
    for (const row of this.networks.ports()) {
      yield { kind: "port", key: row.uuid, value: row };
    }
  }

  *#row(kind: Kind, key: string): Generator<DashboardRow> {
    const value = this.read(kind, key);
    if (value !== undefined) {
      yield { kind, key, value } as DashboardRow;
    }
  }

  /** Returns undefined if there is no such row. Requests have a separate feed. */
  read(kind: Kind, key: string): Rows[Kind] | undefined {
    const { store } = this.#deps.inside;
    switch (kind) {
      case "host":
        return this.hosts.read(key);
      case "heartbeat":
        return this.hosts.heartbeat(key);
      case "server":
        return this.#readServer(key);
      case "migration":
        return this.#moves.read(key);
      case "provider":
        return this.providers?.read(key);
      case "traits":
        return this.providers?.traits(key);
      case "consumer":
        return this.consumers?.read(key);
      case "network":
        return this.networks.network(key);
      case "router":
        return this.networks.router(key);
      case "port":
        return this.networks.port(key);
      case "guests":
        return this.guests.read(key);
      case "finding":
        return this.#findings.read(key) ?? this.#readAuditFinding(key);
      case "action":
        return latestAction(store, key);
      case "flavor":
        return this.flavors.read(key);
      case "request":
        return undefined;
      case "edit":
      case "snapshot":
      case "scenario":
        return this.savedItems.all[kind].get(key);
    }
  }

  /** Returns a finding of the last audit, unless the dashboard itself has one about the same server or consumer. */
  #readAuditFinding(key: string): Rows["finding"] | undefined {
    const row = this.savedItems.all.finding.get(key);
    return row === undefined || this.#findings.covers(row) ? undefined : row;
  }

  #readServer(uuid: string): Rows["server"] | undefined {
    const { store } = this.#deps.inside;
    const instance = store.instances.get(uuid);
    const row = instance === null ? undefined : serverRow(instance, store);
    if (row !== undefined) {
      this.observed.noteServer(row);
    }
    return row;
  }

  /** Checks whether a server has no allocations, or some on two hosts. Does nothing if Placement is external. */
  checkServerAllocations(server: string): void {
    if (this.consumers !== undefined) {
      this.#findings.checkServerAllocations(server, this.consumers.providersOf(server));
    }
  }

  /** Checks whether a consumer with allocations has an owner. @returns undefined if it has no allocations */
  checkConsumer(uuid: string): Rows["consumer"] | undefined {
    const row = this.consumers?.read(uuid);
    this.#findings.checkConsumer(uuid, row);
    return row;
  }
}
