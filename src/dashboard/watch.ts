import type { Inside } from "../control-plane/extension.js";
import type { TouchedRecords } from "../control-plane/placement/store/journal.js";
import type { StoreChange } from "../control-plane/store/store-context.js";
import type { CancelTimer } from "../runtime/time.js";
import { Feed } from "./feed.js";
import { DashboardView, type DashboardViewDeps } from "./view.js";

/** Milliseconds between two checks for hosts whose heartbeats have expired. */
const HOST_POLL_INTERVAL_MS = 1_000;
/**
 * Milliseconds between two polls of agent processes, whose ends cause no event, and until the poll after an action on
 * one.
 */
const AGENT_POLL_INTERVAL_MS = 5_000;
const SOON = 200;
/** Milliseconds between two checks for changed networks, routers and ports. */
const NETWORK_POLL_INTERVAL_MS = 200;

type WatchDeps = Omit<DashboardViewDeps, "onChange">;

/** Follows the page's data by the changes of the records, between {@link begin} and {@link end}. */
export class Watch {
  readonly feed: Feed;
  readonly view: DashboardView;
  readonly #inside: Inside;
  readonly #runtime: WatchDeps["runtime"];
  #ends: (() => void)[] = [];
  #cancelHostPoll: CancelTimer | undefined;
  #cancelAsk: CancelTimer | undefined;
  #cancelNetworkPoll: CancelTimer | undefined;
  #isAgentPollSoon = false;

  constructor({ inside, runtime, ...deps }: WatchDeps) {
    this.#inside = inside;
    this.#runtime = runtime;
    this.feed = new Feed(runtime, (kind, key) => this.view.read(kind, key));
    this.view = new DashboardView({ inside, runtime, ...deps, onChange: (kind, key) => this.feed.changed(kind, key) });
  }

  begin(): void {
    const { store, placement, onGuests } = this.#inside;
    this.view.hosts.noteAggregates();
    this.view.observed.begin();
    this.view.networks.begin();
    this.#ends = [
      store.onChange((change) => this.#changed(change)),
      placement?.onChange((touched) => this.#touched(touched)) ?? (() => undefined),
      onGuests((host) => this.view.guests.look(host)),
    ];
    this.#turn();
    this.#pollNetworks();
    this.#askAgents(0);
    this.noteSavedItems();
  }

  end(): void {
    for (const end of this.#ends) {
      end();
    }
    this.#ends = [];
    this.#cancelHostPoll?.();
    this.#cancelNetworkPoll?.();
    this.view.networks.end();
    this.#cancelAsk?.();
    this.#cancelAsk = undefined;
    this.#isAgentPollSoon = false;
    this.view.clear();
    this.feed.clear();
  }

  /** Reads a host again after an event that changes no record, such as the end of its process. */
  look(host: string): void {
    if (this.#ends.length > 0) {
      this.view.guests.look(host);
      this.#askAgents(SOON);
    }
  }

  /** Reads snapshots, scenarios, and the findings and the plan of the last audit again. */
  noteSavedItems(): void {
    void this.view.savedItems.note();
  }

  #changed({ kind, id }: StoreChange): void {
    switch (kind) {
      case "service":
        this.#serviceChanged(Number(id));
        break;
      case "compute_node":
        this.#nodeChanged(Number(id));
        break;
      case "instance":
        this.#serverChanged(String(id));
        break;
      case "migration":
        this.#moveChanged(Number(id));
        break;
      case "flavor":
        for (const key of this.view.flavors.note()) {
          this.feed.changed("flavor", key);
        }
        break;
      case "aggregate":
        for (const host of this.view.hosts.noteAggregates()) {
          this.feed.changed("host", host);
        }
        break;
      case "action": {
        const action = this.#inside.store.actions.byId(Number(id));
        if (action !== null) {
          this.feed.changed("action", action.instanceUuid);
        }
        break;
      }
      case "message":
      case "task":
        break;
    }
  }

  #serviceChanged(id: number): void {
    const host = this.view.hosts.nameOf(id);
    if (host === undefined) {
      return;
    }
    this.feed.changed("heartbeat", host);
    if (this.view.hosts.noteHeartbeat(host)) {
      this.feed.changed("host", host);
      this.look(host);
    }
  }

  #nodeChanged(id: number): void {
    const node = this.#inside.store.computeNodes.get(id);
    if (node !== null) {
      this.feed.changed("host", node.host);
      this.feed.changed("provider", node.uuid);
      // The host may be reachable for its agent again.
      this.view.guests.look(node.host);
    }
  }

  #serverChanged(uuid: string): void {
    const host = this.#inside.store.instances.get(uuid)?.host ?? null;
    const before = this.view.homes.get(uuid);
    this.feed.changed("server", uuid);
    this.#ownerChanged(uuid);
    this.view.checkServerAllocations(uuid);
    for (const each of new Set([host, before])) {
      if (each !== null && each !== undefined) {
        this.view.guests.look(each);
      }
    }
    if (host === null) {
      this.view.homes.delete(uuid);
    } else {
      this.view.homes.set(uuid, host);
    }
  }

  #moveChanged(id: number): void {
    const migration = this.#inside.store.migrations.get(id);
    if (migration === null) {
      return;
    }
    this.feed.changed("migration", migration.uuid);
    this.#ownerChanged(migration.uuid);
    this.view.checkServerAllocations(migration.instanceUuid);
    for (const host of [migration.sourceCompute, migration.destCompute]) {
      if (host !== null) {
        this.view.guests.look(host);
      }
    }
  }

  /** Updates a consumer whose server or migration may have become another kind of owner. */
  #ownerChanged(uuid: string): void {
    if (this.view.consumers?.forget(uuid)) {
      this.#consumerChanged(uuid, this.view.consumers.providersOf(uuid));
    }
  }

  #touched({ providers, consumers }: TouchedRecords): void {
    for (const { uuid } of providers) {
      this.feed.changed("provider", uuid);
    }
    for (const { uuid, allocations } of consumers) {
      this.#consumerChanged(
        uuid,
        allocations.map(({ inventory }) => inventory.provider.uuid),
      );
    }
  }

  #consumerChanged(uuid: string, providers: readonly string[]): void {
    this.view.savedItems.dropFindings(uuid);
    this.feed.changed("consumer", uuid);
    for (const provider of providers) {
      this.feed.changed("provider", provider);
    }
    const owner = this.view.consumers?.owner(uuid).server ?? null;
    const row = this.view.checkConsumer(uuid);
    this.view.checkServerAllocations(uuid);
    if (row !== undefined && row.server !== null) {
      this.view.observed.noteConsumer(row.server, row);
    } else if (row === undefined) {
      this.view.observed.noteFreed(uuid, owner);
    }
  }

  /** Reports hosts that have gone down because their heartbeats expired. */
  #turn(): void {
    this.#cancelHostPoll = this.#runtime.timers.after(HOST_POLL_INTERVAL_MS, () => this.#turn());
    for (const host of this.view.hosts.turned()) {
      this.feed.changed("host", host);
    }
  }

  #pollNetworks(): void {
    this.#cancelNetworkPoll = this.#runtime.timers.after(NETWORK_POLL_INTERVAL_MS, () => this.#pollNetworks());
    for (const { kind, key } of this.view.networks.takeChanges()) {
      this.feed.changed(kind, key);
    }
  }

  /** Polls the agents' processes after so many milliseconds, and periodically from then on. */
  #askAgents(after: number): void {
    // Frequent events must not postpone the poll indefinitely.
    if (this.#isAgentPollSoon) {
      return;
    }
    this.#isAgentPollSoon = after <= SOON;
    this.#cancelAsk?.();
    this.#cancelAsk = this.#runtime.timers.after(after, () => void this.#noteAgents());
  }

  async #noteAgents(): Promise<void> {
    this.#isAgentPollSoon = false;
    // If the parent process is about to end, the known states remain.
    const rows = await this.#inside.agents().catch(() => undefined);
    if (this.#ends.length === 0) {
      return;
    }
    for (const host of rows === undefined ? [] : this.view.hosts.noteAgents(rows)) {
      this.feed.changed("host", host);
    }
    if (!this.#isAgentPollSoon) {
      this.#askAgents(AGENT_POLL_INTERVAL_MS);
    }
  }
}
