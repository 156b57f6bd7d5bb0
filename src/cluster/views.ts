import { audit } from "../audit/audit.js";
import { chooseCloud } from "../audit/cloud/choose-cloud.js";
import { openCloud } from "../audit/cloud/open-cloud.js";
import { withOperatorSession } from "../cli/cluster/operator-session.js";
import { workLeft } from "../cli/cluster/wait/condition.js";
import type { StateDir } from "../control-plane/local/state-dir.js";
import type { Runtime } from "../runtime/runtime.js";
import type { AuditFinding } from "./cluster.js";

/** Seconds that a cluster may take to settle. */
export const SETTLE_TIMEOUT = 600;

/** The command by which the conductor's log knows who asks. */
const OPERATOR = "settled";

/** The audit's own default. */
const ORPHANED_SHARE = 0.5;

/** What is still being done, for a person; undefined: nothing. */
export function workOf(directory: StateDir, runtime: Runtime): Promise<string | undefined> {
  return withOperatorSession(OPERATOR, { runtime, directory }, workLeft);
}

/** What `compute-cluster audit` finds. */
export async function auditCluster(directory: StateDir, runtime: Runtime): Promise<readonly AuditFinding[]> {
  const { files, http, clock } = runtime;
  const local = { file: directory.cloudsFile, cloud: "devstack", requested: true };
  const config = await chooseCloud(files, { environment: {}, cwd: directory.root, local });
  const cloud = await openCloud(http, config);
  const { findings } = await audit(cloud, {
    clock,
    maxShare: ORPHANED_SHARE,
    thorough: false,
    onProgress: () => undefined,
  });
  return findings.map(({ code, subject, explanation }) => ({ code, subject, explanation }));
}

/** @throws {Error} there are several, or none */
export function onlyOf<T>(hosts: readonly T[]): T {
  const [first, ...others] = hosts;
  if (first === undefined || others.length > 0) {
    throw new Error(`found ${hosts.length} hosts, expected one: each has a state of its own`);
  }
  return first;
}
