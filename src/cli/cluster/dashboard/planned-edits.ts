import type { EditRow } from "../../../dashboard/wire/audit-rows.js";
import type { Files } from "../../../runtime/files.js";

/** What the plan in a file would do, line by line; nothing where there is none that can be read. */
export async function plannedEdits(files: Files, path: string): Promise<ReadonlyMap<string, EditRow>> {
  if ((await files.stat(path)) === undefined) {
    return new Map();
  }
  // What checks a plan is large, and most clusters have none.
  const [{ readPlan }, { describeAction, subjectsOf }] = await Promise.all([
    import("../../../audit/plan/plan-file.js"),
    import("../../../audit/plan/plan.js"),
  ]);
  const plan = await readPlan(files, path, "devstack").catch(() => undefined);
  return new Map(
    plan?.edits.map(({ findings, reason, action }, index) => {
      const [subject = ""] = subjectsOf(action);
      return [`${index} ${subject}`, { findings, reason, does: describeAction(action), subject }];
    }),
  );
}
