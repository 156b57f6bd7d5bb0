import { AGENT_FAULTS } from "../cli/agent/agent-faults.js";
import { IRONIC_FAULTS } from "../control-plane/bare-metal/provision-states.js";
import type { StateDir } from "../control-plane/local/state-dir.js";
import { areNoticed, clearFaults, readFaults, setFaults } from "../faults/fault-file.js";
import { type FaultTable, formatFaultRule, parseFaultRule, unknownPoint } from "../faults/faults.js";
import { nodeTimers } from "../runtime/node/node-builtins.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Faults } from "./cluster.js";

/** Stands for the embedded Ironic in the place of a host. */
const IRONIC = "ironic";

/** Milliseconds that a running agent has to read what was set, and between two looks whether it has. */
const NOTICE_TIME = 2_000;
const NOTICE_STEP = 5;

interface FaultPlace {
  readonly directory: StateDir;
  readonly runtime: Pick<Runtime, "files" | "clock" | "random">;
  /** @throws {Error} there is no such host */
  readonly isServed: (host: string) => Promise<boolean>;
}

interface Target {
  readonly folder: string;
  readonly table: FaultTable;
  readonly served: boolean;
}

/** The faults of a cluster's agents, in the files that they follow. */
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
