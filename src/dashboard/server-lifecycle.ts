import { explainedFault } from "../control-plane/scheduler/errors.js";
import type { Store } from "../control-plane/store/store.js";
import type { Instance, InstanceActionEvent, Migration } from "../records/index.js";
import type { Clock } from "../runtime/time.js";
import type { Consumers } from "./rows/placement.js";
import { type Flavors, migrationRow, serverRow } from "./rows/servers.js";
import type { ConsumerRow, EventRow, LatestAction, ServerLife, ServerRow, StateRow } from "./wire/rows.js";

interface ObservedServer {
  readonly states: StateRow[];
  readonly consumers: { readonly at: number; readonly consumer: ConsumerRow }[];
}

/** Maximum number of observed servers; the most recently changed ones are retained. */
const MAX_SERVERS = 1_000;

/** Maximum number of retained states per server. */
const MAX_STATES = 200;

/**
 * History that the records do not contain: the states of servers and the allocations of servers and their moves.
 * Recorded while a viewer is connected.
 */
export class ObservedStates {
  readonly #clock: Pick<Clock, "now">;
  readonly #servers = new Map<string, ObservedServer>();
  #since: number | null = null;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Time of {@link begin}; null before it and after {@link clear}. */
  get since(): number | null {
    return this.#since;
  }

  begin(): void {
    this.#since = this.#clock.now();
  }

  clear(): void {
    this.#servers.clear();
    this.#since = null;
  }

  noteServer({ uuid, vmState, taskState, host, requestId }: ServerRow): void {
    const { states } = this.#of(uuid);
    const last = states.at(-1);
    if (last?.vmState !== vmState || last.taskState !== taskState || last.host !== host) {
      states.push({ at: this.#clock.now(), vmState, taskState, host, requestId });
      states.splice(0, states.length - MAX_STATES);
    }
  }

  /** @param server uuid of the consumer itself, or of the server that the consumer's migration moves */
  noteConsumer(server: string, consumer: ConsumerRow): void {
    const { consumers } = this.#of(server);
    const last = consumers.findLast((each) => each.consumer.uuid === consumer.uuid);
    if (JSON.stringify(last?.consumer.held) !== JSON.stringify(consumer.held)) {
      consumers.push({ at: this.#clock.now(), consumer });
      consumers.splice(0, consumers.length - MAX_STATES);
    }
  }

  /** Records that the consumer has no allocations any more. */
  noteFreed(uuid: string, server: string | null): void {
    const observed = server === null ? undefined : this.#servers.get(server);
    const last = observed?.consumers.findLast((each) => each.consumer.uuid === uuid);
    if (server !== null && last !== undefined && Object.keys(last.consumer.held).length > 0) {
      this.noteConsumer(server, { ...last.consumer, held: {} });
    }
  }

  statesOf(uuid: string): ServerLife["states"] {
    return this.#servers.get(uuid)?.states ?? [];
  }

  consumersOf(uuid: string): ServerLife["history"] {
    return this.#servers.get(uuid)?.consumers ?? [];
  }

  #of(uuid: string): ObservedServer {
    const observed = this.#servers.get(uuid) ?? { states: [], consumers: [] };
    this.#servers.delete(uuid);
    this.#servers.set(uuid, observed);
    for (const oldest of this.#servers.keys()) {
      if (this.#servers.size <= MAX_SERVERS) {
        break;
      }
      this.#servers.delete(oldest);
    }
    return observed;
  }
}

/** Maximum number of a server's actions in its history; the latest are included. */
const MAX_ACTIONS = 200;

export interface LifeSources {
  /** Undefined if Placement is external. */
  readonly consumers: Consumers | undefined;
  readonly observed: ObservedStates;
  readonly flavors: Pick<Flavors, "nameOf">;
}

/** Returns the history of a server, deleted ones included, or undefined if it never existed. */
export function serverLife(
  uuid: string,
  store: Store,
  { consumers, observed, flavors }: LifeSources,
): ServerLife | undefined {
  const instance = store.instances.get(uuid, { readDeleted: true });
  if (instance === null) {
    return undefined;
  }
  const migrations = store.migrations.byFilters({ instanceUuid: uuid, readDeleted: true });
  const actions = store.actions.list(uuid).slice(0, MAX_ACTIONS).reverse();
  const fault = store.instances.fault(uuid);
  const rows = actions.map(({ id, action, requestId, startTime, finishTime, message }) => ({
    action,
    requestId,
    startedAt: startTime,
    finishedAt: finishTime,
    message,
    events: store.actions.events(id).map(eventRow),
  }));
  return {
    server: serverRow(instance, store),
    deletedAt: instance.deleted === 0 ? null : instance.deletedAt,
    actions: rows,
    migrations: migrations.map((migration) => migrationRow(migration, (id) => flavors.nameOf(id))),
    faults: fault === null ? [] : [{ at: fault.createdAt, message: explainedFault(fault), host: fault.host }],
    hosts: staysOf(instance, migrations, builtAt(instance, rows)),
    consumers: [uuid, ...migrations.map((migration) => migration.uuid)].flatMap(
      (consumer) => consumers?.read(consumer) ?? [],
    ),
    history: observed.consumersOf(uuid),
    states: observed.statesOf(uuid),
    observedSince: observed.since,
  };
}

/** Returns the server's latest action. */
export function latestAction(store: Pick<Store, "actions">, uuid: string): LatestAction | undefined {
  const [action] = store.actions.list(uuid);
  if (action === undefined) {
    return undefined;
  }
  const event = store.actions.events(action.id).at(-1);
  return {
    action: action.action,
    requestId: action.requestId,
    startedAt: action.startTime,
    message: action.message,
    event: event === undefined ? null : eventRow(event),
  };
}

function eventRow({ event, startTime, finishTime, result, host, details }: InstanceActionEvent): EventRow {
  return { event, startedAt: startTime, finishedAt: finishTime, result, host, details };
}

/** Returns when the server was built. Its `launched_at` is the time of the launch on its latest host. */
function builtAt({ createdAt }: Instance, actions: ServerLife["actions"]): number {
  const events = actions.find(({ action }) => action === "create")?.events ?? [];
  return events.find(({ event, result }) => event === BUILD && result === "Success")?.finishedAt ?? createdAt;
}

const BUILD = "compute__do_build_and_run_instance";

/** Statuses from which a move to its destination is final. */
const ARRIVED = ["confirmed", "completed", "done", "finished", "confirming"];

/**
 * Returns the hosts that had the server and when, by its moves: a move changes the host when its record is last
 * updated.
 */
function staysOf(instance: Instance, migrations: readonly Migration[], builtAt: number): ServerLife["hosts"] {
  const stays: { host: string; from: number; to: number | null }[] = [];
  let from = builtAt;
  let host = migrations[0]?.sourceCompute ?? instance.host;
  const moves = migrations.filter(({ status, destCompute }) => ARRIVED.includes(status) && destCompute !== null);
  for (const { sourceCompute, destCompute, updatedAt, createdAt } of moves) {
    const at = updatedAt ?? createdAt;
    stays.push({ host: sourceCompute ?? host ?? "", from, to: at });
    host = destCompute;
    from = at;
  }
  if (host !== null) {
    stays.push({ host, from, to: instance.terminatedAt ?? instance.deletedAt });
  }
  return stays;
}
