import type { Instance, Migration } from "../../records/index.js";
import type { Clock } from "../../runtime/clock.js";
import type { Random } from "../../runtime/random.js";
import type { Changes } from "./changes.js";
import type { RecentRecords } from "./recent-records.js";
import type { Sql } from "./sql.js";

/** What each part of the store works with. */
export interface StoreContext {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly changes: Changes;
  /** By uuid. */
  readonly recentInstances: RecentRecords<string, Instance>;
  /** By id. */
  readonly recentMigrations: RecentRecords<number, Migration>;
}
