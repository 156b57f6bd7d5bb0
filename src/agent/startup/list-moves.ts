import type { Migration } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { coldMovesToList } from "../operations/cold-move/recover.js";
import { UNENDED } from "./interrupted-evacuations.js";

/**
 * The moves that this host has a part in and may have left halfway, evacuations and cold ones, asked for together. Who goes on with
 * one of them reads it again first.
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
