import { explainedFault } from "../../control-plane/scheduler/errors.js";
import type { Store } from "../../control-plane/store/store.js";
import type { Instance, InstanceActionEvent, Migration } from "../../records/index.js";
import type { Consumers } from "../rows/consumers.js";
import { migrationRow, serverRow } from "../rows/server-row.js";
import type { EventRow, LatestAction, ServerLife } from "../wire/server-rows.js";
import type { ObservedStates } from "./observed-states.js";

/** Actions of a server that its life tells, the latest ones. */
const MAX_ACTIONS = 200;

export interface LifeSources {
  readonly store: Store;
  /** Undefined: Placement is elsewhere. */
  readonly consumers: Consumers | undefined;
  readonly observed: ObservedStates;
  readonly flavorName: (id: number | null) => string | null;
}

/** Undefined: there never was such a server. */
export function serverLife(
  uuid: string,
  { store, consumers, observed, flavorName }: LifeSources,
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
    migrations: migrations.map((migration) => migrationRow(migration, flavorName)),
    faults: fault === null ? [] : [{ at: fault.createdAt, message: explainedFault(fault), host: fault.host }],
    hosts: staysOf(instance, migrations, builtAt(instance, rows)),
    consumers: [uuid, ...migrations.map((migration) => migration.uuid)].flatMap(
      (consumer) => consumers?.read(consumer) ?? [],
    ),
    history: observed.consumersOf(uuid),
    states: observed.statesOf(uuid),
  };
}

/** The server's latest action, by the id of a row of its actions. */
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

/** Its `launched_at` says when its latest host launched it. */
function builtAt({ createdAt }: Instance, actions: ServerLife["actions"]): number {
  const events = actions.find(({ action }) => action === "create")?.events ?? [];
  return events.find(({ event, result }) => event === BUILD && result === "Success")?.finishedAt ?? createdAt;
}

const BUILD = "compute__do_build_and_run_instance";

/** What has given a server to its destination for good. */
const ARRIVED = ["confirmed", "completed", "done", "finished", "confirming"];

/** Which host had the server when, as its moves tell: a move changes the host when its record is written last. */
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
