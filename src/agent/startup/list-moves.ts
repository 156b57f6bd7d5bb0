import type { Migration } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { coldMovesToList } from "../operations/cold-move/recover.js";
import { UNENDED } from "../operations/evacuate/evacuation-progress.js";

/**
 * The evacuations and cold moves that this host has a part in and may have left halfway, in one call. What resumes one of them
 * reads it again first.
 */
export function listMoves({ conductor, host }: AgentView): Promise<readonly Migration[]> {
  const { migrationTypes, statuses } = coldMovesToList(true);
  return conductor.call("migrations_by_filters", {
    filters: {
      host,
      migrationTypes: ["evacuation", ...migrationTypes],
      statuses: [...new Set([...UNENDED, ...statuses])],
    },
  });
}
