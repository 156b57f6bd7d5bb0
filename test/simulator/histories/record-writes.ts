import type { HostSession } from "../../../src/conductor-client/port.js";
import type { Store } from "../../../src/control-plane/store/store.js";
import type { StoreChange } from "../../../src/control-plane/store/store-context.js";
import type { Instance, InstanceChanges, Migration, MigrationChanges } from "../../../src/records/index.js";
import type { Violation } from "../../chaos/violation.js";
import { changedRecord } from "../../fixtures/invariants/changed-record.js";
import { type Act, firstUnexplained } from "./linearizable.js";
import type { Ticks } from "./ticks.js";

/** The fields that agents compare and swap. */
const WATCHED = ["host", "node", "taskState", "vmState", "status", "destCompute"] as const;
const RECORDED_FIELDS = [...WATCHED, "taskRequestId"] as const;
type Watched = Partial<Readonly<Record<(typeof RECORDED_FIELDS)[number], unknown>>>;

/** The state of a record after a commit. */
interface Version {
  readonly tick: number;
  readonly record: Watched;
}

/** A write of an agent: its expected state and its changes. */
interface Write {
  readonly key: string;
  readonly expects: (found: Watched) => boolean;
  readonly leaves: Watched;
}

interface CompletedWrite {
  readonly write: Write;
  readonly invoked: number;
  readonly completed: number;
  readonly rejected: boolean;
  readonly what: string;
}

/** The progress of a record: the last commit, and whether an agent's write is known to have caused it. */
interface Progress {
  readonly commit: number;
  readonly claimed: boolean;
}

/** Errors of the store that report an unexpected state. */
const REJECTION_ERRORS = /^(UnexpectedTaskState|UnexpectedDeletingTaskState|UnexpectedVmState|InvalidMigrationState)$/;

/** Records the compare-and-swap writes of agents, and all commits of the affected records. */
export class RecordWrites {
  readonly #ticks: Ticks;
  readonly #versions = new Map<string, Version[]>();
  readonly #writes = new Map<string, CompletedWrite[]>();
  /** The intervals without a listener: between the kill of a control plane and the start of the next one. */
  readonly #gaps: { readonly from: number; to: number }[] = [{ from: 0, to: Number.POSITIVE_INFINITY }];

  constructor(ticks: Ticks) {
    this.#ticks = ticks;
  }

  /** Starts to watch a control plane's store. */
  follow(store: Store): void {
    const gap = this.#gaps.at(-1);
    if (gap?.to === Number.POSITIVE_INFINITY) {
      gap.to = this.#ticks.next();
    }
    for (const [uuid] of store.database.all("SELECT uuid FROM instances")) {
      this.#changed(store, { kind: "instance", id: String(uuid) });
    }
    for (const [id] of store.database.all("SELECT id FROM migrations")) {
      this.#changed(store, { kind: "migration", id: Number(id) });
    }
    store.onChange((change) => this.#changed(store, change));
  }

  /** The control plane is dead; commits are not observed until {@link follow}. */
  loses(): void {
    if (this.#gaps.at(-1)?.to !== Number.POSITIVE_INFINITY) {
      this.#gaps.push({ from: this.#ticks.next(), to: Number.POSITIVE_INFINITY });
    }
  }

  /** Wraps a session so that its writes and their results are recorded. */
  session(session: HostSession): HostSession {
    const call: HostSession["call"] = async (method, params, options) => {
      const writes = writesOf(method, params);
      const invoked = this.#ticks.next();
      const keep = (write: Write, rejected: boolean) =>
        this.#keep({ write, invoked, completed: this.#ticks.next(), rejected, what: `${session.host}: ${method}` });
      try {
        const result = await session.call(method, params, options);
        for (const write of writes) {
          keep(write, false);
        }
        return result;
      } catch (error) {
        for (const write of writes.filter(({ key }) => isRejection(error, key))) {
          keep(write, true);
        }
        throw error;
      }
    };
    return {
      host: session.host,
      get leaseHeld() {
        return session.leaseHeld;
      },
      get leaseEpoch() {
        return session.leaseEpoch;
      },
      leaseLost: session.leaseLost,
      call,
      callAgent: (host, method, params, options) => session.callAgent(host, method, params, options),
      castAgent: (host, method, params, options) => session.castAgent(host, method, params, options),
      acquireLease: () => session.acquireLease(),
      leaseSettled: () => session.leaseSettled(),
      serve: (handlers) => session.serve(handlers),
      stopServing: () => session.stopServing(),
      drain: (handlers) => session.drain(handlers),
      close: () => session.close(),
    };
  }

  /** Returns the results that no order of the commits explains. */
  violations(): readonly Violation[] {
    return [...this.#writes].flatMap(([key, writes]) => {
      const versions = this.#versions.get(key) ?? [];
      const wrong = firstUnexplained({ commit: -1, claimed: false }, actsOf(versions, writes));
      return wrong === null ? [] : [{ subject: key.split(" ")[1] ?? key, what: `${key}: ${wrong.what}` }];
    });
  }

  #changed(store: Store, change: StoreChange): void {
    const record = changedRecord(store, change);
    if (record !== null) {
      const { kind, id } = change;
      const key = `${kind} ${id}`;
      const versions = this.#versions.get(key) ?? [];
      versions.push({ tick: this.#ticks.next(), record: watched(record) });
      this.#versions.set(key, versions);
    }
  }

  #keep(completedWrite: CompletedWrite): void {
    const { key } = completedWrite.write;
    if (this.#gaps.some(({ from, to }) => completedWrite.invoked < to && completedWrite.completed > from)) {
      return;
    }
    this.#writes.set(key, [...(this.#writes.get(key) ?? []), completedWrite]);
  }
}

function isRejection(error: unknown, key: string): boolean {
  const { name = "", data } = error instanceof Error ? (error as Error & { readonly data?: { reason?: unknown } }) : {};
  const isMigration = name === "InvalidMigrationState";
  const isConflict = REJECTION_ERRORS.test(name) || (name === "ObjectActionError" && data?.reason === "host changed");
  return isConflict && isMigration === key.startsWith("migration");
}

function watched(record: Instance | Migration): Watched {
  const found: Readonly<Record<string, unknown>> = { ...record };
  return Object.fromEntries(RECORDED_FIELDS.flatMap((name) => (name in found ? [[name, found[name]]] : [])));
}

interface InstanceWrite {
  readonly uuid: string;
  readonly changes: InstanceChanges;
  readonly expectedHost?: string | null;
  readonly expectedTaskState?: readonly unknown[];
  readonly expectedVmState?: readonly unknown[];
  readonly ofRequest?: string;
}

interface MigrationWrite {
  readonly id: number;
  readonly changes: MigrationChanges;
  readonly expectedStatus?: readonly unknown[];
}

/** Returns the watched writes of a call. */
function writesOf(method: string, params: unknown): readonly Write[] {
  switch (method) {
    case "instance_save":
      return instanceWrite(params as InstanceWrite);
    case "migration_save":
      return migrationWrite(params as MigrationWrite);
    case "save_together": {
      const { instance, migration } = params as { instance?: InstanceWrite; migration?: MigrationWrite };
      return [...(instance ? instanceWrite(instance) : []), ...(migration ? migrationWrite(migration) : [])];
    }
    default:
      return [];
  }
}

function instanceWrite(write: InstanceWrite): readonly Write[] {
  const { uuid, changes, expectedHost, expectedTaskState, expectedVmState, ofRequest } = write;
  return writeOf(`instance ${uuid}`, changes, ({ host, taskState, vmState, taskRequestId }) => {
    const isOurs = ofRequest === undefined || taskRequestId === null || taskRequestId === ofRequest;
    return (
      isOurs &&
      (expectedHost === undefined || host === expectedHost) &&
      (expectedTaskState?.includes(taskState) ?? true) &&
      (expectedVmState?.includes(vmState) ?? true)
    );
  });
}

function migrationWrite({ id, changes, expectedStatus }: MigrationWrite): readonly Write[] {
  return writeOf(`migration ${id}`, changes, ({ status }) => expectedStatus?.includes(status) ?? true);
}

function writeOf(key: string, changes: object, expects: Write["expects"]): readonly Write[] {
  const changedFields = new Map(Object.entries(changes));
  const leaves = Object.fromEntries(
    WATCHED.filter((name) => changedFields.has(name)).map((name) => [name, changedFields.get(name)]),
  );
  return Object.keys(leaves).length === 0 ? [] : [{ key, expects, leaves }];
}

/** The order of commits is known; each belongs to at most one write. */
function actsOf(versions: readonly Version[], writes: readonly CompletedWrite[]): readonly Act<Progress>[] {
  const commits = versions.map(({ tick, record }, commit) => ({
    invoked: tick,
    completed: tick,
    apply: (state: Progress) => (state.commit === commit - 1 ? { commit, claimed: false } : undefined),
    what: `commit ${commit}: ${JSON.stringify(record)}`,
  }));
  return [...commits, ...writes.map((completedWrite) => actOf(versions, completedWrite))];
}

function actOf(
  versions: readonly Version[],
  { write, invoked, completed, rejected, what }: CompletedWrite,
): Act<Progress> {
  const { expects, leaves } = write;
  const summary = `${what} ${JSON.stringify(leaves)} was ${rejected ? "refused" : "carried out"}`;
  return {
    invoked,
    completed,
    what: `${summary}, and the record was ${showSpan(versions, invoked, completed)}`,
    apply: (state) => {
      const now = versions[state.commit];
      const before = versions[state.commit - 1];
      if (now === undefined) {
        return undefined;
      }
      if (rejected) {
        return expects(now.record) ? undefined : state;
      }
      const wrote = !state.claimed && now.tick > invoked && before !== undefined && expects(before.record);
      return wrote && isLeft(now.record, leaves) ? { ...state, claimed: true } : undefined;
    },
  };
}

function isLeft(record: Watched, leaves: Watched): boolean {
  return WATCHED.every((name) => leaves[name] === undefined || leaves[name] === record[name]);
}

/** Formats the record at the invocation, and after each commit until the completion. */
function showSpan(versions: readonly Version[], invoked: number, completed: number): string {
  const first = versions.findLastIndex(({ tick }) => tick < invoked);
  const observed = versions.filter(({ tick }, index) => index >= first && tick < completed);
  return observed.map(({ record }) => JSON.stringify(record)).join(" → ");
}
