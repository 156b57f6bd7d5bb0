import type { Store } from "../../src/cluster/store/store.js";

/**
 * Of a simulation's state of record nothing has to outlive its process: what a transaction undoes is kept in memory, nothing waits for
 * the disk, and no lock is taken and given back for each transaction.
 */
export function makeQuick({ database }: Store): void {
  for (const pragma of ["locking_mode = EXCLUSIVE", "synchronous = OFF", "journal_mode = MEMORY"]) {
    database.file.exec(`PRAGMA ${pragma}`);
  }
}

/** Gives the lock back, which the engine would keep until its last statement has been collected. */
export function letGo({ database }: Store): void {
  database.file.exec("PRAGMA locking_mode = NORMAL");
  database.get("SELECT count(*) FROM sqlite_master");
}
