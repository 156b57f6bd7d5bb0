import type { Store } from "../../src/control-plane/store/store.js";
import type { StoreChange } from "../../src/control-plane/store/store-context.js";
import type { Migration } from "../../src/records/index.js";

/** Milliseconds that a choice of hosts may be old when it is carried out. */
const STALE = 60_000;

/**
 * The scheduler gives evacuations to no host that an operator has taken out of service, unless he insists; and no destination
 * takes a server that its group wants elsewhere, whoever insists.
 */
export class EvacuationWatch {
  readonly broken: string[] = [];
  readonly crowded: string[] = [];
  readonly #now: () => number;
  /** Host → since when it is out of service. */
  readonly #out = new Map<string, number>();
  readonly #forced = new Set<number>();
  readonly #checked = new Set<number>();
  readonly #arrived = new Set<number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A control plane has opened the state of record. */
  follow(store: Store): void {
    store.onChange((change) => this.#changed(store, change));
  }

  #changed(store: Store, { kind, id }: StoreChange): void {
    if (kind === "service") {
      const { host = "", disabled = false, forcedDown = false } = store.services.get(Number(id)) ?? {};
      if (!disabled && !forcedDown) {
        this.#out.delete(host);
      } else if (!this.#out.has(host)) {
        this.#out.set(host, this.#now());
      }
    }
    if (kind === "migration") {
      this.#check(store, Number(id));
    }
  }

  #check(store: Store, id: number): void {
    const migration = store.migrations.get(id);
    if (migration?.migrationType === "evacuation" && migration.status === "done") {
      this.#checkGroup(store, migration);
    }
    if (migration?.migrationType !== "evacuation" || migration.status !== "accepted" || this.#checked.has(id)) {
      return;
    }
    const waiting = store.tasks
      .pending()
      .find(({ task }) => task.kind === "rebuild_instance" && task.migrationId === id)?.task;
    if (waiting?.kind === "rebuild_instance") {
      if (waiting.forced) {
        this.#forced.add(id);
      }
      return;
    }
    this.#checked.add(id);
    const { destCompute, instanceUuid } = migration;
    const since = this.#out.get(destCompute ?? "") ?? Number.POSITIVE_INFINITY;
    if (!this.#forced.has(id) && since < this.#now() - STALE) {
      this.broken.push(`${instanceUuid} is evacuated to ${destCompute}, which is out of service`);
    }
  }

  /** Compares with servers that were there all the time: the first of two that come at once stays (spec 6.9 row 5). */
  #checkGroup({ serverGroups }: Store, { id, instanceUuid, destCompute }: Migration): void {
    const group = this.#arrived.has(id) ? null : serverGroups.ofInstance(instanceUuid);
    this.#arrived.add(id);
    if (group?.policy !== "anti-affinity") {
      return;
    }
    const others = serverGroups.places(group.id).filter(({ instanceUuid: other }) => other !== instanceUuid);
    for (const { instanceUuid: other, host, underWay, moves } of others) {
      if (host === destCompute && !underWay && moves.length === 0) {
        this.crowded.push(`${instanceUuid} is evacuated to ${host}, where ${other} of its anti-affinity group is`);
      }
    }
  }
}
