import type { Call, OperationName, OperationServices } from "../contract.js";
import { mustNotUndo, type OpenEvent, withActionEvent } from "./error-wrappers.js";
import { runSteps, type StepList } from "./step-list.js";

interface Progress {
  readonly services: OperationServices;
}

/**
 * Runs the steps in the event of the action, which ends as an error when one fails; what then becomes of the instance is the
 * operation's to say. True: no step failed or said stop.
 * @throws what `failed` throws; or the error, when what was done has to be left as after a crash
 */
export async function runOperation<P extends Progress>(
  { event }: Pick<Call<OperationName>, "event">,
  list: StepList<P>,
  progress: P,
  failed: (progress: P, error: unknown, event: OpenEvent) => Promise<void>,
): Promise<boolean> {
  const { services } = progress;
  return withActionEvent(services.context, event, async (open) => {
    try {
      return await runSteps(services, list, progress);
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      open.fail(error);
      await failed(progress, error, open);
      return false;
    }
  });
}
