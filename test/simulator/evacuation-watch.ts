import type { Store } from "../../src/control-plane/store/store.js";
import type { StoreChange } from "../../src/control-plane/store/store-context.js";
import type { Migration } from "../../src/records/index.js";

/** The max age, in milliseconds, of the scheduler's decision when an evacuation starts. */
const STALE = 60_000;

/**
 * Checks that the scheduler selects only enabled hosts for evacuations, unless the operator forces a host.
 * Also checks that no destination accepts a server against its group's policy, even if it is forced.
 */
export class EvacuationWatch {
  readonly broken: string[] = [];
  readonly crowded: string[] = [];
  readonly #now: () => number;
  /** Host → the time since when it is out of service. */
  readonly #out = new Map<string, number>();
  readonly #forced = new Set<number>();
  readonly #checked = new Set<number>();
  readonly #arrived = new Set<number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts to watch a control plane's store. */
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

  /**
   * Compares only with servers that are not moving: of two servers that arrive concurrently, the first one stays (spec
   * 6.9 row 5).
   */
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
