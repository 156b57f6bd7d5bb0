import { join } from "node:path";
import { audit } from "../audit/audit.js";
import { chooseCloud } from "../audit/cloud/choose-cloud.js";
import { openCloud } from "../audit/cloud/open-cloud.js";
import { AGENT_FAULTS } from "../cli/agent/agent-faults.js";
import { withOperatorSession } from "../cli/cluster/operator-session.js";
import { workLeft } from "../cli/cluster/wait/condition.js";
import { IRONIC_FAULTS } from "../control-plane/bare-metal/provision-states.js";
import type { StateDir } from "../control-plane/local/state-dir.js";
import { areNoticed, clearFaults, readFaults, setFaults } from "../faults/fault-file.js";
import { type FaultTable, formatFaultRule, parseFaultRule, unknownPoint } from "../faults/faults.js";
import type { Files } from "../runtime/files.js";
import { nodeTimers } from "../runtime/node/node-builtins.js";
import type { Runtime } from "../runtime/runtime.js";
import type { AuditFinding, Faults, StartClusterOptions } from "./cluster.js";

/** The default timeout for settling, in seconds. */
export const SETTLE_TIMEOUT = 600;

/** The name of the caller in the conductor's log. */
const OPERATOR = "settled";

/** The audit's own default. */
const ORPHANED_SHARE = 0.5;

/** Describes the operations in progress for users; undefined if there are none. */
export function workOf(directory: StateDir, runtime: Runtime): Promise<string | undefined> {
  return withOperatorSession(OPERATOR, { runtime, directory }, workLeft);
}

/** Returns the findings of `compute-agent audit`. */
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

/** @throws {Error} when there is not exactly one */
export function onlyOf<T>(hosts: readonly T[]): T {
  const [first, ...others] = hosts;
  if (first === undefined || others.length > 0) {
    throw new Error(`found ${hosts.length} hosts, expected one: each has a state of its own`);
  }
  return first;
}

/** The name of the embedded Ironic where a host is expected. */
const IRONIC = "ironic";

/** Max milliseconds for a running agent to read new faults, and the poll interval. */
const NOTICE_TIME = 2_000;

const NOTICE_STEP = 5;

interface FaultPlace {
  readonly directory: StateDir;
  readonly runtime: Pick<Runtime, "files" | "clock" | "random">;
  /** @throws {Error} when the host does not exist */
  readonly isServed: (host: string) => Promise<boolean>;
}

interface Target {
  readonly folder: string;
  readonly table: FaultTable;
  readonly served: boolean;
}

/** Manages the faults of a cluster's agents through the files that the agents watch. */
export function clusterFaults({ directory, runtime, isServed }: FaultPlace): Faults {
  const target = async (host: string): Promise<Target> =>
    host === IRONIC
      ? { folder: directory.ironic, table: IRONIC_FAULTS, served: true }
      : { folder: directory.agent(host), table: AGENT_FAULTS, served: await isServed(host) };
  const noticed = async (folder: string, ids: readonly string[]): Promise<void> => {
    const { sleep } = nodeTimers();
    for (let waited = 0; waited < NOTICE_TIME && !(await areNoticed(folder, ids, runtime)); waited += NOTICE_STEP) {
      await sleep(NOTICE_STEP);
    }
  };
  return {
    set: async (host, ...faultRules) => {
      const { folder, table, served } = await target(host);
      const ids = await setFaults(
        folder,
        faultRules.map((faultRule) => parseFaultRule(faultRule, table)),
        runtime,
      );
      if (served) {
        await noticed(folder, ids);
      }
    },
    clear: async (host, ...points) => {
      const { folder, table } = await target(host);
      const wrong = points.find((point) => !table.has(point));
      if (wrong !== undefined) {
        throw unknownPoint(wrong, table);
      }
      await clearFaults(folder, points, runtime);
    },
    list: async (host) => {
      const { folder, table } = await target(host);
      return (await readFaults(folder, table, runtime)).map(formatFaultRule);
    },
  };
}

/**
 * Writes a test's options to a file for agents and control plane.
 * @returns the file's path
 */
export async function writeNovaConf(
  config: NonNullable<StartClusterOptions["config"]>,
  { root }: StateDir,
  files: Files,
): Promise<string> {
  const path = join(root, "nova.conf");
  const sections = Object.entries(config).map(([section, options]) => {
    const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
    return [`[${section}]`, ...lines, ""].join("\n");
  });
  await files.write(path, sections.join("\n"), { mode: 0o600 });
  return path;
}
