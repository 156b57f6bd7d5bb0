import { NETWORK_FAULT_POINTS } from "../../agent/host-ports.js";
import { faultPoint } from "../../agent/operations/flow/step-list.js";
import { STEP_NAMES } from "../../agent/operations/table.js";
import { FaultFile } from "../../faults/fault-file.js";
import { DRIVER_POINTS, RUNTIME_FAULT_POINTS } from "../../faults/fault-injection.js";
import { type FaultPoint, faultTable } from "../../faults/faults.js";
import type { Runtime } from "../../runtime/runtime.js";

/** Errors of steps, by their names, that operations handle in a way of their own. */
const STEP_ERRORS: Readonly<Record<string, readonly string[]>> = { claim: ["ComputeResourcesUnavailable"] };

/** Fault points before the steps of operations, such as `agent.terminate_instance.destroy`. */
const STEP_POINTS: readonly FaultPoint[] = Object.entries(STEP_NAMES).flatMap(([operation, names]) =>
  names.map((step) => {
    const errors = STEP_ERRORS[step];
    const point: FaultPoint = { point: faultPoint(operation, step), kinds: ["fail", "hang", "slow"] };
    return errors === undefined ? point : { ...point, errors };
  }),
);

/** All fault points of an agent. */
export const AGENT_FAULTS = faultTable([
  ...DRIVER_POINTS,
  ...RUNTIME_FAULT_POINTS,
  ...NETWORK_FAULT_POINTS,
  ...STEP_POINTS,
]);

/** Loads the faults set in the agent's `state_path` and follows their changes. */
export async function openFaults(statePath: string, runtime: Runtime): Promise<FaultFile> {
  const file = new FaultFile(statePath, AGENT_FAULTS, runtime);
  await file.open();
  return file;
}
