import { setFlagsFromString } from "node:v8";
import { endProcess } from "./end-process.js";
import { guardOutput } from "./guard-output.js";
import { leaveParent, tellParent } from "./parent.js";
import { reportFailure } from "./report-failure.js";

/**
 * How much WebAssembly runs before V8 optimises it, a hundred times of what it begins with: the HTTP client's parser would be optimised
 * after some dozen answers, which takes 36 MB, of which ten stay, and longer than the answers to a small process do in an hour.
 */
const WASM_BUDGET = 180_000_000;

/**
 * Runs a program from its arguments to its end. Whatever it refuses or fails with, it prints, tells the parent that
 * watches it, and ends with the exit code that the README lists.
 */
export async function runProgram(name: string, work: () => Promise<void>): Promise<void> {
  guardOutput(name);
  setFlagsFromString(`--wasm-tiering-budget=${WASM_BUDGET}`);
  try {
    await work();
  } catch (error) {
    const { code, message } = reportFailure(name, error);
    tellParent({ type: "component", state: "failed", detail: message });
    leaveParent();
    endProcess(code, name);
  }
}
