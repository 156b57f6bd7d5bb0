import { endProcess } from "./end-process.js";
import { guardOutput } from "./guard-output.js";
import { leaveParent, notifyParent } from "./parent.js";
import { reportFailure } from "./report-failure.js";

/**
 * Runs a program from its arguments to its end. Whatever it refuses or fails with, it prints, tells the parent that
 * watches it, and ends with the exit code that the README lists.
 */
export async function runProgram(name: string, work: () => Promise<void>): Promise<void> {
  guardOutput(name);
  try {
    await work();
  } catch (error) {
    const { code, message } = reportFailure(name, error);
    notifyParent({ type: "component", state: "failed", detail: message });
    leaveParent();
    endProcess(code, name);
  }
}
