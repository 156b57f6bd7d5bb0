import type { Store } from "../../control-plane/store/store.js";
import { FINAL_MIGRATION_STATUSES, type Instance, type Migration, type VmState } from "../../records/index.js";
import type { ConsumerRow, FindingRow, GuestsRow } from "../wire/rows.js";
import { Repairs } from "./repairs.js";

/** States in which a server without a running task has a guest. */
const WITH_GUEST: readonly VmState[] = ["active", "paused", "suspended", "stopped", "rescued", "resized"];

const NOWHERE = { host: null, server: null, consumer: null, provider: null };

type FindingsStore = Pick<Store, "instances" | "migrations" | "computeNodes">;

type Finding = readonly [key: string, row: FindingRow];

/** Contradictions between records and hypervisors per host, and allocations without an owner. */
export class Findings {
  readonly #store: FindingsStore;
  readonly #onChange: (key: string) => void;
  readonly #rows = new Map<string, FindingRow>();
  /** Keys of findings by their subject: a host or a consumer. */
  readonly #keys = new Map<string, readonly string[]>();
  /** The number of findings about each server or consumer. */
  readonly #subjects = new Map<string, number>();
  readonly #repairs: Repairs;

  /**
   * @param onChange called with the key of each new, changed or removed finding
   * @param clusterOption option of commands that selects the cluster; "" for the default cluster
   */
  constructor(store: FindingsStore, onChange: (key: string) => void, clusterOption = "") {
    this.#store = store;
    this.#repairs = new Repairs(clusterOption);
    this.#onChange = onChange;
  }

  read(key: string): FindingRow | undefined {
    return this.#rows.get(key);
  }

  get all(): ReadonlyMap<string, FindingRow> {
    return this.#rows;
  }

  /** Returns whether there is a finding about the server or consumer of another one. */
  covers({ server, consumer }: Pick<FindingRow, "server" | "consumer">): boolean {
    return [server, consumer].some((uuid) => uuid !== null && this.#subjects.has(uuid));
  }

  clear(): void {
    this.#subjects.clear();
    this.#rows.clear();
    this.#keys.clear();
  }

  replace(subject: string, found: readonly Finding[]): void {
    const before = this.#keys.get(subject) ?? [];
    const now = new Map(found);
    for (const key of before) {
      this.#count(this.#rows.get(key), -1);
      if (!now.has(key)) {
        this.#rows.delete(key);
        this.#onChange(key);
      }
    }
    for (const [key, row] of now) {
      this.#rows.set(key, row);
      this.#count(row, 1);
      this.#onChange(key);
    }
    if (now.size > 0) {
      this.#keys.set(subject, [...now.keys()]);
    } else {
      this.#keys.delete(subject);
    }
  }

  #count(row: FindingRow | undefined, change: 1 | -1): void {
    for (const uuid of [row?.server, row?.consumer]) {
      if (uuid !== null && uuid !== undefined) {
        const count = (this.#subjects.get(uuid) ?? 0) + change;
        if (count > 0) {
          this.#subjects.set(uuid, count);
        } else {
          this.#subjects.delete(uuid);
        }
      }
    }
  }

  /**
   * Compares a host's guests, which were just read, with the servers that the records place there. @param guests
   * undefined if unknown
   */
  checkHost(host: string, guests: GuestsRow | undefined): void {
    if (guests === undefined) {
      this.replace(`host ${host}`, []);
      return;
    }
    const missing = new Map(this.#store.instances.byHost(host).map((server) => [server.uuid, server]));
    const unknownGuests = guests.guests.filter(({ uuid }) => !missing.delete(uuid));
    this.replace(`host ${host}`, [
      ...unknownGuests.flatMap(({ uuid, name }) => this.#guest(host, uuid, name)),
      ...[...missing.values()].flatMap((server) => this.#server(host, server)),
    ]);
  }

  /** Reports a consumer whose allocations have no owner. @param row undefined if the consumer has no allocations */
  checkConsumer(uuid: string, row: ConsumerRow | undefined): void {
    if (row?.type !== "stale") {
      this.replace(`consumer ${uuid}`, []);
      return;
    }
    const owner = row.server === null ? "no server and no migration has this uuid" : "it is a migration that has ended";
    const text = `consumer ${uuid} has ${Object.values(row.held).map(textOf).join(" and ")} allocated, but ${owner}`;
    const [provider = null] = Object.keys(row.held);
    const repair = this.#repairs.allocations(
      uuid,
      "Placement counts these resources as used, although nothing uses them. The audit plans their removal. " +
        "It checks the consumer twice, and the edit can be undone.",
    );
    this.replace(`consumer ${uuid}`, [
      [
        `consumer ${uuid}`,
        { ...NOWHERE, ...repair, code: "stale-allocation", text, consumer: uuid, server: row.server, provider },
      ],
    ]);
  }

  /**
   * Compares the providers of a server's allocations with its host, if no task of the server is running. Reports a
   * server without allocations, whose resources can be claimed by others, and allocations on a second host.
   */
  checkServerAllocations(uuid: string, providers: readonly string[]): void {
    const server = this.#store.instances.get(uuid);
    const subject = `holding ${uuid}`;
    if (server === null || server.host === null || !this.#isAtRest(server, server.host)) {
      this.replace(subject, []);
      return;
    }
    if (providers.length > 0) {
      this.replace(
        subject,
        providers.flatMap((provider) => this.#doubled(server, provider)),
      );
      return;
    }
    const { displayName, vmState, host } = server;
    const text = `server ${displayName}, ${vmState}, on ${host} has no allocations in Placement: others may claim its resources`;
    const repair = this.#repairs.missingAllocations(uuid);
    this.replace(subject, [[subject, { ...NOWHERE, ...repair, code: "missing-allocation", text, host, server: uuid }]]);
  }

  /**
   * Returns a finding for an allocation on another host that no move explains. An evacuation leaves one until its
   * source has cleaned up.
   */
  #doubled({ uuid, displayName, host }: Instance, provider: string): readonly Finding[] {
    const other = this.#store.computeNodes.hostOf(provider);
    if (other === null || other === host) {
      return [];
    }
    const explains = (move: Migration) =>
      isUnderWay(move) || (move.migrationType === "evacuation" && move.status === "done");
    if (this.#moves(uuid, other).some(explains)) {
      return [];
    }
    const text = `server ${displayName} is on ${host} and also has allocations on ${other}, which no move explains`;
    const repair = this.#repairs.allocations(
      uuid,
      "The other host's resources count as used, although the server does not run there. The audit plans the removal " +
        "of these allocations. The edit can be undone.",
    );
    const row = { ...NOWHERE, ...repair, code: "doubled-allocation", text, host: other, server: uuid, provider };
    return [[`holding ${uuid} ${provider}`, row]];
  }

  #guest(host: string, uuid: string, name: string): readonly Finding[] {
    const server = this.#store.instances.get(uuid);
    const key = `guest ${host} ${uuid}`;
    if (server === null) {
      const deleted = this.#store.instances.get(uuid, { readDeleted: true });
      const why = deleted === null ? "no server has its uuid" : `server ${deleted.displayName} is deleted`;
      const text = `guest ${name} is on the hypervisor of ${host}, but ${why}`;
      const repair = this.#repairs.guestWithoutServer(host);
      return [[key, { ...NOWHERE, ...repair, code: "guest-without-server", text, host, server: uuid }]];
    }
    const moves = this.#moves(uuid, host);
    // A server without a host is being updated.
    if (moves.some(isUnderWay) || (server.host === null && server.taskState !== null)) {
      return [];
    }
    const wasEvacuated = moves.some(({ migrationType, status }) => migrationType === "evacuation" && status === "done");
    const left = wasEvacuated
      ? `it was evacuated, and the agent of ${host} removes this guest when it starts`
      : `this guest was left behind on ${host}`;
    const text = `server ${server.displayName} is recorded on ${server.host ?? "no host"}: ${left}`;
    const repair = wasEvacuated ? this.#repairs.evacuatedGuest(host) : this.#repairs.staleGuest(uuid);
    return [[key, { ...NOWHERE, ...repair, code: "stale-guest", text, host, server: uuid }]];
  }

  #server(host: string, server: Instance): readonly Finding[] {
    const { uuid, displayName, vmState } = server;
    if (!this.#isAtRest(server, host)) {
      return [];
    }
    const text = `server ${displayName} (${vmState}) is recorded on ${host}, but its hypervisor has no such guest`;
    const repair = this.#repairs.serverWithoutGuest(uuid);
    return [[`server ${uuid}`, { ...NOWHERE, ...repair, code: "server-without-guest", text, host, server: uuid }]];
  }

  /** Returns whether the server has its guest and no task of it is running. */
  #isAtRest({ uuid, vmState, taskState }: Instance, host: string): boolean {
    return WITH_GUEST.includes(vmState) && taskState === null && !this.#moves(uuid, host).some(isMoving);
  }

  #moves(instanceUuid: string, host: string): readonly Migration[] {
    return this.#store.migrations.byFilters({ instanceUuid, host });
  }
}

const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** Excludes a resize that waits for confirmation: its guest is where the records place it. */
const isMoving = (migration: Migration): boolean => isUnderWay(migration) && migration.status !== "finished";

function textOf(amounts: Readonly<Record<string, number>>): string {
  return Object.entries(amounts)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(", ");
}
