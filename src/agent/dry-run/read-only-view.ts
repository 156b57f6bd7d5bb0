import type { AgentView } from "../context.js";
import { createView, type ViewOptions } from "../lifecycle/create-services.js";
import { OverlayFiles } from "./overlay-files.js";
import { DryRunViolation, readOnlyHttp, readOnlyPrograms, readOnlySession } from "./read-only.js";

export type ReadOnlyViewOptions = Omit<ViewOptions, "permit">;

/** What an agent of this host sees, through doors that let nothing out: no write, no lease, no file. */
export function createReadOnlyView(options: ReadOnlyViewOptions): Promise<AgentView> {
  const { runtime, session } = options;
  return createView({
    ...options,
    session: readOnlySession(session),
    runtime: {
      ...runtime,
      files: new OverlayFiles(runtime.files),
      http: readOnlyHttp(runtime.http),
      programs: readOnlyPrograms(runtime.programs),
    },
    permit: (purpose) => {
      throw new DryRunViolation(purpose);
    },
  });
}
