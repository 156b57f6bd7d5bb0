import type { AdmissionRejection } from "../admission/admission.js";
import type { AdmittedFlow, Call, NamedSteps, OperationName } from "../contract.js";
import type { Move } from "./free-allocations.js";

/** A step of a migration, on one of its hosts. */
export interface MoveFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  run(call: Call<M>, move: Move): Promise<void>;
  onRejected?(call: Call<M>, move: Move, rejection: AdmissionRejection): Promise<void>;
}

/** Nothing is done, or given back, where a record of the two is missing. */
export function moveFlow<M extends OperationName>({ steps, run, onRejected }: MoveFlow<M>): AdmittedFlow<M> {
  return {
    steps,
    run: async (call, { instance, migration }) => {
      if (migration) {
        await run(call, { instance, migration });
      }
    },
    onRejected: async (call, rejection) => {
      const { instance, migration } = rejection.found ?? {};
      if (instance && migration) {
        await onRejected?.(call, { instance, migration }, rejection);
      }
    },
  };
}
