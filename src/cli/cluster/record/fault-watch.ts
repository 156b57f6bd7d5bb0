import type { RecordedCommand } from "../../../conductor-client/methods/cluster.js";
import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/fault-points.js";
import { hostsWithState, type StateDir } from "../../../control-plane/local/state-dir.js";
import { readFaults } from "../../../faults/fault-file.js";
import { formatFaultRule } from "../../../faults/fault-rules.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";

/** Notices faults that are set and cleared, which is done to files. */
export class FaultWatch {
  readonly #directory: StateDir;
  readonly #runtime: Pick<Runtime, "files" | "clock">;
  /** Knobs by the ids of their faults, by host. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  constructor(directory: StateDir, runtime: Pick<Runtime, "files" | "clock">) {
    this.#directory = directory;
    this.#runtime = runtime;
  }

  /** The commands that have done what is new since the last time; the first time nothing is. */
  async changes(): Promise<readonly RecordedCommand[]> {
    const { files } = this.#runtime;
    const hosts = [...(await hostsWithState(files, this.#directory)), "ironic"];
    return (await Promise.all(hosts.map((host) => this.#changesOf(host)))).flat();
  }

  async #changesOf(host: string): Promise<readonly RecordedCommand[]> {
    const isIronic = host === "ironic";
    const folder = isIronic ? this.#directory.ironic : this.#directory.agent(host);
    const found = await readFaults(folder, isIronic ? IRONIC_FAULTS : AGENT_FAULTS, this.#runtime).catch(() => []);
    const now = new Map(found.map((fault) => [fault.id, formatFaultRule(fault)] as const));
    const before = this.#known.get(host);
    this.#known.set(host, now);
    if (before === undefined) {
      return [];
    }
    const set = [...now].filter(([id]) => !before.has(id)).map(([, faultRule]) => faultRule);
    const points = new Set([...now.values()].map(pointOf));
    const cleared = [...before].filter(([id, faultRule]) => !now.has(id) && !points.has(pointOf(faultRule)));
    const at = this.#runtime.clock.now();
    return [
      ...(cleared.length === 0
        ? []
        : [{ at, run: ["fault", "clear", host, ...cleared.map(([, faultRule]) => pointOf(faultRule))] }]),
      ...(set.length === 0 ? [] : [{ at, run: ["fault", "set", host, ...set] }]),
    ];
  }
}

const pointOf = (faultRule: string): string => faultRule.split("=")[0] ?? faultRule;
