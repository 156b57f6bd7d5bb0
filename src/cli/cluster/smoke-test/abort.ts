import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import type { SmokeTestOutcome } from "./smoke-test-result.js";

const VERSION = "2.79";

interface MigrationView {
  readonly id: number;
  readonly status: string;
}

/**
 * Asks once for the end of the server's live migration, if it runs. @returns false: there is none yet, or none any more.
 * @throws {CloudRequestFailed}
 */
export async function abortIfRunning(session: CloudSession, server: string): Promise<boolean> {
  const path = `/servers/${server}/migrations`;
  const { migrations } = (await session.request("compute", "GET", path, VERSION)) as {
    readonly migrations: readonly MigrationView[];
  };
  const running = migrations.find(({ status }) => status === "running");
  if (running === undefined) {
    return false;
  }
  try {
    await session.request("compute", "DELETE", `${path}/${running.id}`, VERSION);
  } catch (error) {
    // It was over in between: how, the migration tells.
    if (!(error instanceof Error && "status" in error && (error.status === 400 || error.status === 404))) {
      throw error;
    }
  }
  return true;
}

/** States of a migration that ends, or is still to. */
const UNDER_WAY: readonly string[] = ["queued", "accepted", "preparing", "running", "post-migrating"];

/**
 * What became of a live migration that was to be aborted, once its server is at rest: the migration is later by a moment.
 * @param failure of the abort; null: it did not fail
 * @returns undefined: the migration is still under way
 */
export async function evaluateAbort(
  session: CloudSession,
  server: string,
  failure: SmokeTestOutcome | null,
): Promise<SmokeTestOutcome | undefined> {
  if (failure?.outcome === "unsupported") {
    return failure;
  }
  const path = `/os-migrations?instance_uuid=${server}&migration_type=live-migration`;
  const { migrations } = (await session.request("compute", "GET", path, VERSION)) as {
    readonly migrations: readonly MigrationView[];
  };
  const newest = migrations.toSorted((one, other) => other.id - one.id)[0]?.status ?? "absent";
  if (UNDER_WAY.includes(newest)) {
    return undefined;
  }
  switch (newest) {
    case "cancelled":
      return { outcome: "ok", reason: "" };
    case "completed":
      return { outcome: "skipped", reason: "the migration was over before it could be aborted" };
    default:
      return failure ?? { outcome: "failed", reason: `the migration is ${newest}, expected cancelled` };
  }
}
