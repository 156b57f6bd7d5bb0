import { where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import type { WorkKind } from "./work-kinds.js";

function finish(context: BlockStorageContext, id: string): void {
  context.change(SNAPSHOTS, id, { status: "available", progress: "100%" }, where`status = 'creating'`);
}

function fail(from: string, to: string): WorkKind["fail"] {
  return (context, id) => {
    context.change(SNAPSHOTS, id, { status: to }, where`status = ${from}`);
  };
}

function remove(status: string): WorkKind["run"] {
  return ({ sql }, id) => {
    sql.execute("DELETE FROM block_storage_snapshots WHERE id = ? AND status = ?", id, status);
  };
}

/** Work on snapshots. The names are those of fault points. */
export const SNAPSHOT_WORK: Readonly<Record<string, WorkKind>> = {
  "snapshot.create": { run: finish, fail: fail("creating", "error") },
  "snapshot.manage": { run: finish, fail: fail("creating", "error_managing") },
  "snapshot.delete": { run: remove("deleting"), fail: fail("deleting", "error_deleting") },
  "snapshot.unmanage": { run: remove("unmanaging"), fail: fail("unmanaging", "error_unmanaging") },
};
