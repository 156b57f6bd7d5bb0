import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import { isObject } from "../../../../../src/runtime/collections.js";
import type { Sent } from "../../../placement-client/bench.js";
import type { Cast, ConductorBench } from "./bench.js";

/** An event with its details: `["PUT /allocations/I", { devstack2: { VCPU: 1 } }]`. */
export type Line = readonly [what: string, particulars?: unknown];

/**
 * Records a task's steps in order: its Placement requests, its messages to agents, and the changes of each transaction to
 * the instance's records. Events of actions come last, then the task's own failure. `I` is the instance, `M1` its first
 * migration; a node has its host's name.
 * @param work runs the task; default: the current conductor
 */
export async function stepsOf(
  bench: ConductorBench,
  task: Task,
  work: () => Promise<unknown> = () => bench.run(),
): Promise<readonly Line[]> {
  const { instanceUuid } = task;
  const { id } = bench.store.tasks.add(task);
  const logged = bench.placementBench.logs.length;
  let isOpen = false;
  const lines: Line[] = [];
  const records = new Records(bench, instanceUuid);
  records.changes();
  const before = eventsOf(bench, instanceUuid);
  const onSent = (sent: Sent) => lines.push(lineOf(sent));
  const onMessage = (what: string, { host, method, params }: Cast) =>
    lines.push([`${what} ${method} of ${host}`, params]);
  const stop = bench.store.onChange(({ kind }) => {
    if (kind === "action") {
      // Events are listed at the end.
      return;
    }
    lines.push(...records.changes());
    isOpen = bench.store.tasks.pending().some((each) => each.id === id);
  });
  bench.placementBench.watchers.add(onSent);
  bench.watchers.add(onMessage);
  await work();
  stop();
  bench.placementBench.watchers.delete(onSent);
  bench.watchers.delete(onMessage);
  lines.push(...records.changes());
  const events = eventsOf(bench, instanceUuid).filter((event) => !before.includes(event));
  if (events.length > 0) {
    lines.push(["events", events]);
  }
  if (isOpen) {
    lines.push(["finished apart from its last write"]);
  }
  const complaints = bench.placementBench.logs.slice(logged).map(({ message }) => message.replace(/;.*/, ""));
  const failures = [`${task.kind} failed`, `${task.kind} could not be ended after its failure`];
  lines.push(...complaints.filter((message) => failures.includes(message)).map((message): Line => [message]));
  return named(bench, instanceUuid, lines);
}

const EXTERNAL_CALL = /^(GET|PUT|POST|DELETE|cast|call) /;

/** Returns only the Placement requests and the messages to agents. */
export function getExternalCalls(lines: readonly Line[]): readonly string[] {
  return lines.map(([what]) => what).filter((what) => EXTERNAL_CALL.test(what));
}

/** Returns only the changed columns of each record. */
export function outcome(lines: readonly Line[]): Readonly<Record<string, unknown>> {
  const left = new Map<string, unknown>();
  for (const [what, particulars = true] of lines.filter(([each]) => !EXTERNAL_CALL.test(each))) {
    const before = left.get(what);
    left.set(what, isObject(before) && isObject(particulars) ? { ...before, ...particulars } : particulars);
  }
  return Object.fromEntries(left);
}

type Row = Readonly<Record<string, unknown>>;

/** Timestamps, and columns that every row has. */
const UNTOLD = new Set(["id", "uuid", "instanceUuid", "createdAt", "updatedAt", "deletedAt"]);

class Records {
  readonly #bench: ConductorBench;
  readonly #uuid: string;
  readonly #known = new Map<string, Row | null>();

  constructor(bench: ConductorBench, uuid: string) {
    this.#bench = bench;
    this.#uuid = uuid;
  }

  /** Returns the changes since the previous call. */
  changes(): Line[] {
    const { store } = this.#bench;
    const instance = store.instances.get(this.#uuid, { readDeleted: true });
    const migrations = store.migrations.byFilters({ instanceUuid: this.#uuid, readDeleted: true });
    const spec = store.requests.spec(this.#uuid);
    const request = store.requests.buildRequest(this.#uuid);
    const fault = store.instances.fault(this.#uuid);
    return [
      ...this.#change("instance", instance && { ...instance, deleted: instance.deleted !== 0 }),
      ...migrations.flatMap((row, index) =>
        this.#change(`migration M${index + 1}`, { ...row, deleted: row.deleted !== 0 }),
      ),
      ...this.#change("fault", fault && { code: fault.code, message: fault.message, host: fault.host }),
      ...this.#change("request spec", spec && { ...spec, flavor: spec.flavor.name }),
      ...this.#change("build request", request && { projectId: request.projectId }),
      ...this.#change("mapping", store.mappings.instance(this.#uuid)),
      ...this.#tasks(),
    ];
  }

  #tasks(): Line[] {
    return this.#bench.store.tasks.pending().flatMap(({ id, task }) => {
      const { kind, instanceUuid, ...more } = task;
      const isNew = instanceUuid === this.#uuid && !this.#known.has(`task ${id}`);
      this.#known.set(`task ${id}`, {});
      return isNew ? [[`task ${kind}`, more] as const] : [];
    });
  }

  #change(what: string, now: Row | null): Line[] {
    const before = this.#known.get(what);
    this.#known.set(what, now);
    if (now === null) {
      return before ? [[`${what} gone`]] : [];
    }
    if (!before || what === "fault") {
      const presentColumns = Object.entries(now).filter(
        ([name, value]) => !UNTOLD.has(name) && value !== null && value !== false,
      );
      return before && same(before, now) ? [] : [[what, Object.fromEntries(presentColumns)]];
    }
    const changed = Object.entries(now).filter(([name, value]) => !UNTOLD.has(name) && !same(before[name], value));
    return changed.length > 0 ? [[what, Object.fromEntries(changed)]] : [];
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Renders events like `cold_migrate Error: why`; an open event has no result. */
function eventsOf({ store }: ConductorBench, instanceUuid: string): readonly string[] {
  return store.actions
    .list(instanceUuid)
    .toReversed()
    .flatMap(({ id }) => store.actions.events(id))
    .map(({ event, host, result, details }) =>
      [`${event} on ${host}:`, result, details && `(${details})`].filter(Boolean).join(" "),
    );
}

/** Renders a request with its resulting allocations by consumer. */
function lineOf({ method, path, body, status }: Sent): Line {
  const what = `${method} ${path.split("?")[0]}${status >= 400 ? ` -> ${status}` : ""}`;
  if (method === "GET" || method === "DELETE") {
    return [what];
  }
  const write = body as Readonly<Record<string, { readonly allocations?: Row }>>;
  const allocations = "allocations" in write ? write.allocations : undefined;
  return allocations === undefined
    ? [what, Object.fromEntries(Object.entries(write).map(([consumer, held]) => [consumer, amounts(held.allocations)]))]
    : [what, amounts(allocations as Row)];
}

function amounts(allocations: Row = {}): Row {
  return Object.fromEntries(
    Object.entries(allocations).map(([provider, held]) => [provider, (held as { resources: Row }).resources]),
  );
}

function named({ store }: ConductorBench, instanceUuid: string, lines: readonly Line[]): readonly Line[] {
  const names: [string, string][] = [[instanceUuid, "I"]];
  for (const [index, { uuid }] of store.migrations.byFilters({ instanceUuid, readDeleted: true }).entries()) {
    names.push([uuid, `M${index + 1}`]);
  }
  for (const { host } of store.services.list({})) {
    names.push(...store.computeNodes.byHost(host).map(({ uuid }): [string, string] => [uuid, host]));
  }
  const text = names.reduce((all, [uuid, name]) => all.replaceAll(uuid, name), JSON.stringify(lines, byName));
  return JSON.parse(text) as Line[];
}

/** Replaces flavors and alternates by their names. */
function byName(key: string, value: unknown): unknown {
  if (key === "alternates" && Array.isArray(value)) {
    return value.map(({ host }) => host);
  }
  return isObject(value) && "flavorid" in value ? value.name : value;
}
