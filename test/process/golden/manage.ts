import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { type Outcome, recordedOutcome, withoutIds } from "../../fixtures/golden-manage.js";
import type { LocalCloud } from "../support/local-cloud.js";

const PROGRAM = fileURLToPath(new URL("../../../dist/bin/compute-cluster.js", import.meta.url));

/** Runs `compute-agent manage …` as a process, for the cluster's state directory. */
export function manage(cloud: Pick<LocalCloud, "stateDir">, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, "manage", ...args, "--state-dir", cloud.stateDir],
      (_error, stdout, stderr) => resolve({ rc: child.exitCode ?? -1, stdout: stdout + stderr }),
    );
  });
}

/** Runs the command, and compares its output with that recorded from the real nova-manage. */
export async function expectAsRecorded(
  cloud: Pick<LocalCloud, "stateDir">,
  name: string,
  ...args: readonly string[]
): Promise<void> {
  expect(withoutIds(await manage(cloud, "placement", ...args, "--verbose")), name).toEqual(recordedOutcome(name));
}
