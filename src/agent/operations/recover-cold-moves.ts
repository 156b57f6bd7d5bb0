import { isConductorError } from "../../conductor-client/errors.js";
import { DISK_INFO, type Instance, type Migration, type MigrationStatus, type TaskState } from "../../records/index.js";
import { PublicError } from "../../runtime/error-messages.js";
import { type AgentContext, hasQuirk, requestId as newRequestId } from "../context.js";
import { CONFIRM_RESIZE } from "./cold-move/confirm-resize.js";
import { COLD, findUnsettled, settleLeftover } from "./cold-move/leftover-moves.js";
import { lookUpMove, type MoveProgress } from "./cold-move/move-request.js";
import { FINISH_RESIZE, finishFailed } from "./cold-move/resize-instance.js";
import { FINISH_REVERT_RESIZE, REVERT_RESIZE } from "./cold-move/revert-resize.js";
import type { OperationServices, StuckMoveOptions } from "./flow/contract.js";
import { isLeaseLost } from "./flow/error-wrappers.js";
import { revertToSource } from "./flow/move-allocations.js";
import type { Move } from "./flow/release-allocations.js";
import { callOf, forRequest } from "./table.js";

interface Resume {
  /** The required task_state; null for any. */
  readonly task: TaskState | null;
  /** Requires a null task_state. */
  readonly idle?: true;
  readonly statuses: readonly MigrationStatus[];
  readonly side: "source" | "destination";
  readonly run: (progress: MoveProgress) => Promise<void>;
}

/**
 * The reconcile table of spec 2.6 (OPT), and the actions that it needs from hosts that did not restart. The first
 * matching row applies. A status that is behind its task is left by Nova's conductor, which writes the instance first.
 */
const RESUMES: readonly Resume[] = [
  { task: "resize_prep", statuses: ["pre-migrating", "error"], side: "destination", run: undoPrep },
  { task: "resize_prep", statuses: ["pre-migrating", "migrating", "error"], side: "source", run: undoPrep },
  { task: "resize_migrated", statuses: ["migrating", "post-migrating"], side: "destination", run: finishAgain },
  { task: "resize_migrated", statuses: ["migrating", "post-migrating"], side: "source", run: castFinish },
  { task: "resize_finish", statuses: ["post-migrating", "finished"], side: "destination", run: failFinish },
  { task: "resize_reverting", statuses: ["reverting"], side: "destination", run: revertAgain },
  { task: "resize_reverting", statuses: ["reverted"], side: "source", run: finishRevertAgain },
  { task: "resize_reverting", statuses: ["reverted"], side: "destination", run: castFinishRevert },
  { task: null, idle: true, statuses: ["pre-migrating", "post-migrating"], side: "destination", run: noteEnd },
  { task: null, idle: true, statuses: ["pre-migrating", "migrating"], side: "source", run: noteEnd },
  { task: null, statuses: ["confirming"], side: "source", run: confirmAgain },
  { task: null, statuses: ["confirmed"], side: "source", run: settleLeftover },
];

const TASKS = [...new Set(RESUMES.flatMap(({ task }) => task ?? []))];
/** The statuses that the table has a row for. Most `confirmed` moves are over: only a start checks all of them. */
const STATUSES = [...new Set(RESUMES.flatMap(({ statuses }) => statuses))].filter((status) => status !== "confirmed");
/** Statuses of moves whose end may already show in the instance, whatever its task. */
const OPEN: readonly MigrationStatus[] = ["pre-migrating", "migrating", "post-migrating"];

/** Returns the filter for the cold moves of a host that {@link recoverColdMoves} needs. */
export function coldMovesToList(confirmed: boolean): {
  readonly migrationTypes: typeof COLD;
  readonly statuses: MigrationStatus[];
} {
  return { migrationTypes: COLD, statuses: confirmed ? [...STATUSES, "confirmed"] : STATUSES };
}

/** An interrupted move of this host. */
interface StuckMove {
  readonly instanceUuid: string;
  readonly migrationId: number;
  /** The request that the move belongs to; null: it was confirmed, or began with an earlier release. */
  readonly requestId: string | null;
  resume(services: OperationServices, requestId: string): Promise<void>;
}

/** Spec 2.6 OPT. @throws the error that ended the host's lease; others are logged, and the recovery is repeated later */
export async function recoverColdMoves(services: OperationServices, options: StuckMoveOptions): Promise<void> {
  const { locks, unsettled } = services;
  const { clock, logger } = services.runtime;
  const searchOptions = { ...options, confirmed: options.confirmed || unsettled.since !== null };
  const { found, waits } = await findStuckMoves(services, searchOptions);
  unsettled.lookedAt(options.before);
  if (waits) {
    unsettled.note(clock.now());
  }
  unsettled.stillStuck(new Set(found.map(({ migrationId }) => migrationId)));
  for (const move of found) {
    const { instanceUuid, migrationId } = move;
    const requestId = move.requestId ?? newRequestId(services);
    const fields = { instance: instanceUuid, migration: migrationId, request_id: requestId };
    logger.info("continuing an interrupted move", fields);
    try {
      await locks.run(instanceUuid, () => move.resume(forRequest(services, requestId), requestId));
      unsettled.ended(migrationId);
    } catch (err) {
      unsettled.note(clock.now());
      unsettled.failed(migrationId);
      if (isLeaseLost(err)) {
        throw err;
      }
      logger.error("could not recover an interrupted move; retrying later", { ...fields, err });
    }
  }
}

/** Returns moves from or to this host at a step that this host, or the other, should continue. */
async function findStuckMoves(
  services: OperationServices,
  { before, confirmed, listed: provided }: StuckMoveOptions,
): Promise<{ readonly found: readonly StuckMove[]; readonly waits: boolean }> {
  const { unsettled } = services;
  const filters = { host: services.host, ...coldMovesToList(confirmed) };
  const migrations = provided ?? (await services.conductor.call("migrations_by_filters", { filters }));
  const listed = migrations.filter(({ migrationType }) => COLD.includes(migrationType));
  const open = listed.filter(({ status }) => status !== "confirmed");
  const ended = listed.filter(({ status, sourceCompute }) => status === "confirmed" && sourceCompute === services.host);
  const instances = await instancesOf(services, open);
  const moves: {
    readonly migration: Migration;
    readonly task: TaskState | null;
    readonly requestId: string | null;
    readonly written: number;
  }[] = open
    .filter((migration) => migration.status === "confirming" || hasEnded(migration, instances))
    .map((migration) => ({ migration, task: null, requestId: null, written: writtenAt(migration) }));
  for (const instance of instances.values()) {
    const migration = TASKS.some((task) => task === instance.taskState) && (await latestMove(services, instance));
    if (!migration) {
      continue;
    }
    const written = Math.max(writtenAt(migration), writtenAt(instance));
    moves.push({ migration, task: instance.taskState, requestId: instance.taskRequestId, written });
  }
  const unsettledMoves = await findUnsettled(services, ended);
  for (const migration of unsettledMoves.found) {
    moves.push({ migration, task: null, requestId: null, written: writtenAt(migration) });
  }
  const found = moves
    .filter(({ written, migration }) => written <= before || unsettled.hasFailed(migration.id))
    .flatMap(({ migration, task, requestId: owner }) => {
      const found = resumeOf(services, migration, task);
      if (!found) {
        return [];
      }
      const { id: migrationId, instanceUuid } = migration;
      const resume = async (services: OperationServices, requestId: string): Promise<void> => {
        const request = { instanceUuid, migrationId, requestId };
        // Read again under the instance's lock: an operation here may just have ended.
        const now = await lookUpMove(services, request);
        if (now.instance.deleted !== 0 || resumeOf(services, now.migration, now.instance.taskState) !== found) {
          return;
        }
        await found.run({ services, request, move: now });
      };
      return [{ instanceUuid, migrationId, requestId: owner, resume }];
    });
  return { found, waits: unsettledMoves.waits };
}

/** Returns instances by uuid: all of the open moves, and of the others those with a move's task_state. */
async function instancesOf(
  { conductor }: AgentContext,
  moves: readonly Migration[],
): Promise<ReadonlyMap<string, Instance>> {
  const open = new Set(moves.filter(({ status }) => OPEN.includes(status)).map(({ instanceUuid }) => instanceUuid));
  const others = new Set(moves.map(({ instanceUuid }) => instanceUuid).filter((uuid) => !open.has(uuid)));
  const ask = async (uuids: ReadonlySet<string>, more: { readonly taskStates?: TaskState[] }) =>
    uuids.size === 0
      ? []
      : conductor.call("instances_by_filters", { filters: { uuids: [...uuids], deleted: false, ...more } });
  const found = await Promise.all([ask(open, {}), ask(others, { taskStates: TASKS })]);
  return new Map(found.flat().map((instance) => [instance.uuid, instance]));
}

function hasEnded(migration: Migration, instances: ReadonlyMap<string, Instance>): boolean {
  const instance = instances.get(migration.instanceUuid);
  return OPEN.includes(migration.status) && instance !== undefined && endOf({ instance, migration }) !== undefined;
}

function resumeOf(context: AgentContext, migration: Migration, task: TaskState | null): Resume | undefined {
  const sides = { source: migration.sourceCompute, destination: migration.destCompute };
  return RESUMES.find(
    (row) =>
      sides[row.side] === context.host &&
      (row.task === task || (row.task === null && row.idle === undefined)) &&
      row.statuses.includes(migration.status) &&
      !isLeft(context, row),
  );
}

/** Upstream recovers none of these; each group has a quirk. */
function isLeft(context: AgentContext, { task }: Resume): boolean {
  return hasQuirk(context, task === "resize_prep" ? "leave-resize-prep-allocations" : "leave-interrupted-resizes");
}

async function latestMove({ conductor }: AgentContext, { uuid }: Instance): Promise<Migration | undefined> {
  const migrations = await conductor.call("migrations_by_filters", {
    filters: { instanceUuid: uuid, migrationTypes: COLD },
  });
  return migrations.reduce<Migration | undefined>(
    (latest, migration) => (latest === undefined || migration.id > latest.id ? migration : latest),
    undefined,
  );
}

const writtenAt = ({ updatedAt, createdAt }: Instance | Migration): number => updatedAt ?? createdAt;

/**
 * Undoes a move that had not begun: first the allocations, then the row. The process that sets the status first owns
 * the move.
 */
async function undoPrep({ services, request, move }: MoveProgress): Promise<void> {
  const { conductor } = services;
  const { instance, migration } = move;
  try {
    await conductor.call("migration_save", {
      id: migration.id,
      changes: { status: "error" },
      expectedStatus: [migration.status],
    });
    await revertToSource(services, { instance, migration }, { requestId: request.requestId });
    await services.tracker.saveMove({
      instance,
      changes: { taskState: null, newFlavor: null, migrationContext: null },
      expectedTaskState: ["resize_prep"],
      migration: { ...migration, status: "error" },
    });
  } catch (error) {
    if (!isConductorError(error, "InvalidMigrationState", "UnexpectedTaskState")) {
      throw error;
    }
    services.logger.info("the move has continued meanwhile", { instance: instance.uuid, err: error });
  }
}

/** The source's disk info is in the row since the host changed. */
const diskInfoOf = ({ instance }: Move): string => instance.systemMetadata[DISK_INFO] ?? "";

async function confirmAgain({ services, request, move }: MoveProgress): Promise<void> {
  await CONFIRM_RESIZE.run(callOf("confirm_resize", services, request), move);
}

async function revertAgain({ services, request, move }: MoveProgress): Promise<void> {
  await REVERT_RESIZE.run(callOf("revert_resize", services, request), move);
}

async function finishRevertAgain({ services, request, move }: MoveProgress): Promise<void> {
  await FINISH_REVERT_RESIZE.run(callOf("finish_revert_resize", services, request), move);
}

/** Under Nova the instance changes its host before its move's status, and a process may die in between. */
async function afterFlip(progress: MoveProgress): Promise<MoveProgress> {
  const { services, move } = progress;
  if (move.migration.status !== "migrating") {
    return progress;
  }
  const migration = await services.conductor.call("migration_save", {
    id: move.migration.id,
    changes: { status: "post-migrating" },
    expectedStatus: ["migrating"],
  });
  return { ...progress, move: { ...move, migration } };
}

async function finishAgain(progress: MoveProgress): Promise<void> {
  const { services, request, move } = await afterFlip(progress);
  await FINISH_RESIZE.run(callOf("finish_resize", services, { ...request, diskInfo: diskInfoOf(move) }), move);
}

async function failFinish(progress: MoveProgress): Promise<void> {
  await finishFailed(progress, new PublicError("the agent stopped while it finished the move"));
}

/** The message may have been lost with the process that should have sent it; a duplicate is ignored. */
async function castFinish(progress: MoveProgress): Promise<void> {
  const { services, request, move } = await afterFlip(progress);
  const message = { ...request, diskInfo: diskInfoOf(move) };
  await services.conductor.castAgent(move.migration.destCompute ?? "", "finish_resize", message);
}

async function noteEnd({ services, move }: MoveProgress): Promise<void> {
  const { id, status: expected } = move.migration;
  const status = endOf(move);
  if (status !== undefined) {
    await services.conductor.call("migration_save", { id, changes: { status }, expectedStatus: [expected] });
  }
}

/**
 * Returns how a move has ended whose migration does not show it yet: the instance waits for a confirmation, or has
 * failed.
 */
function endOf({ instance: { vmState, taskState }, migration }: Move): MigrationStatus | undefined {
  if (taskState !== null) {
    return undefined;
  }
  return vmState === "error"
    ? "error"
    : vmState === "resized" && migration.status === "post-migrating"
      ? "finished"
      : undefined;
}

async function castFinishRevert({ services, request, move }: MoveProgress): Promise<void> {
  await services.conductor.castAgent(move.migration.sourceCompute ?? "", "finish_revert_resize", request);
}
