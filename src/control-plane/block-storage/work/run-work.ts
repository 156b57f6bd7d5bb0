import { type FaultTable, faultTable } from "../../../faults/faults.js";
import type { BlockStorageContext, BlockStorageWork } from "../engine/block-storage-context.js";
import { BACKUP_WORK } from "./backup-work.js";
import { GROUP_WORK } from "./group-work.js";
import { SNAPSHOT_WORK } from "./snapshot-work.js";
import { VOLUME_WORK } from "./volume-work.js";
import type { WorkKind } from "./work-kinds.js";

/** All kinds of work, by their names. */
const WORK_KINDS: Readonly<Record<string, WorkKind>> = {
  ...VOLUME_WORK,
  ...SNAPSHOT_WORK,
  ...BACKUP_WORK,
  ...GROUP_WORK,
};

const KINDS = ["fail", "slow", "hang"] as const;

const pointsOf = (names: readonly string[]) => names.map((point) => ({ point, kinds: KINDS }));

/** Fault points of the service: its work, requests that connect volumes, and the reports of the volume services. */
export const BLOCK_STORAGE_FAULTS: FaultTable = faultTable([
  ...pointsOf([...Object.keys(VOLUME_WORK), "volume.attach", "volume.detach"]),
  { point: "volume.service", kinds: ["down", "fail"] },
  ...pointsOf(Object.keys({ ...SNAPSHOT_WORK, ...BACKUP_WORK, ...GROUP_WORK })),
]);

/** Runs stored work for the cluster's task runner, with the same rules as the conductor's tasks. */
export interface BlockStorageWorker {
  /** @param finish removes the task, in the transaction of its changes */
  run(work: BlockStorageWork, finish: () => void): Promise<void>;
  /** Does the work at once, past its fault point, in the caller's transaction. */
  complete(work: BlockStorageWork): void;
  /** Leaves the records in error, in the transaction that removes the task. */
  fail(work: BlockStorageWork): void;
}

export function createWorker(context: BlockStorageContext): BlockStorageWorker {
  const complete = (work: BlockStorageWork) => kindOf(work).run(context.as(work.requestId), work.id, work.input);
  return {
    complete,
    async run(work, finish) {
      await context.services.faults.hit(work.work);
      context.sql.transaction(() => {
        complete(work);
        finish();
      });
    },
    fail: (work) => kindOf(work).fail(context.as(work.requestId), work.id, work.input),
  };
}

function kindOf({ work }: BlockStorageWork): WorkKind {
  const kind = WORK_KINDS[work];
  if (kind === undefined) {
    throw new Error(`Block Storage has no work ${work}`);
  }
  return kind;
}
