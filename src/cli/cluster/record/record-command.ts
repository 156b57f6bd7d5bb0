import { appendFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { RecordedCommand, RecordedEvent } from "../../../conductor-client/methods/cluster.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/provision-states.js";
import { hostsWithState, readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { readFaults } from "../../../faults/fault-file.js";
import { formatFaultRule } from "../../../faults/faults.js";
import { FileFailure } from "../../../runtime/files.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import type { Runtime } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import { version } from "../../ui/command-line.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import { clusterCommand, inCluster } from "../cluster-command.js";
import { clusterFileOf, clusterFileText } from "../file/write-cluster-file.js";
import { HostSettingsStore } from "../host-settings.js";
import { withOperatorSession } from "../operator-session.js";
import { readAllocations } from "./held-allocations.js";
import {
  createdServer,
  RECORDING_VERSION,
  type RecordedPlace,
  type RecordingEnd,
  type RecordingStart,
} from "./recording.js";

/** Determines the hosts of new servers, since API responses to users do not include them. */
export class PlaceWatch {
  readonly #session: HostSession;
  readonly #clock: Pick<Clock, "now">;
  readonly #awaited = new Set<string>();

  constructor(session: HostSession, clock: Pick<Clock, "now">) {
    this.#session = session;
    this.#clock = clock;
  }

  /** @param events new since the last call @returns the hosts of servers that had none before */
  async places(events: readonly RecordedEvent[]): Promise<readonly RecordedPlace[]> {
    for (const event of events) {
      const id = "answer" in event ? createdServer(event) : undefined;
      if (id !== undefined) {
        this.#awaited.add(id);
      }
    }
    return (await Promise.all([...this.#awaited].map((id) => this.#placeOf(id)))).flat();
  }

  async #placeOf(server: string): Promise<readonly RecordedPlace[]> {
    const found = await this.#session.call("instance_get", { uuid: server });
    if (found === null || found.vmState === "error") {
      this.#awaited.delete(server);
      return [];
    }
    if (found.host === null) {
      return [];
    }
    this.#awaited.delete(server);
    const service = await this.#session.call("service_get_by_host", { host: found.host, binary: "nova-compute" });
    return [{ at: this.#clock.now(), server, place: `${service?.availabilityZone ?? "nova"}:${found.host}` }];
  }
}

/** Detects faults that are set or cleared, by polling their files. */
class FaultWatch {
  readonly #directory: StateDir;
  readonly #runtime: Pick<Runtime, "files" | "clock">;
  /** Fault rules by fault id, by host. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  constructor(directory: StateDir, runtime: Pick<Runtime, "files" | "clock">) {
    this.#directory = directory;
    this.#runtime = runtime;
  }

  /** Returns commands equivalent to the changes since the last call; none at the first call. */
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

/** Milliseconds between two polls for events. */
const PAUSE = 250;

export function recordCommand(): Command {
  return clusterCommand("record")
    .argument("<file>", "new file, of mode 0600")
    .summary("Record requests and host events until Ctrl-C")
    .description(
      "Records each client request with its response and time, `compute-agent host` commands and changes of faults, for " +
        "`compute-agent replay`. It records the users of requests, but no passwords, tokens, private keys, user data or " +
        "requests for tokens.",
    )
    .action(
      inCluster(async ({ directory, runtime, terminal }, file: string) => {
        const signal = interruptSignal();
        await withOperatorSession("record", { runtime, directory }, async (session) => {
          // Clear the buffer now, so that events during the creation of the file are recorded.
          await session.call("take_recorded", {});
          const faults = new FaultWatch(directory, runtime);
          await faults.changes();
          await begin(file, directory, runtime);
          terminal.print(`recording ${directory.root} into ${file}; Ctrl-C ends it`);
          const { events, lost } = await follow(file, { session, faults, runtime, signal });
          const url = (await readClusterInfo(runtime.files, directory))?.url ?? "";
          const held = await readAllocations(session, runtime.http, url);
          await add(file, [{ end: runtime.clock.now(), held, lost } satisfies RecordingEnd]);
          terminal.print(
            `${events === 0 ? "0 events: nothing was requested meanwhile" : `${events} events`}${lost === 0 ? "" : `, and ${lost} lost because the buffer was full`}`,
          );
        });
      }),
    );
}

async function begin(file: string, directory: StateDir, runtime: Runtime): Promise<void> {
  const savedSettings = await new HostSettingsStore(runtime.files, directory).read();
  const {
    port: _port,
    listen: _listen,
    listen_without_tls: _plain,
    ...cluster
  } = await clusterFileOf({ runtime, digests: nodeDigests, directory }, savedSettings);
  const start: RecordingStart = {
    recording: RECORDING_VERSION,
    version: version(),
    at: runtime.clock.now(),
    cluster: clusterFileText(cluster),
  };
  try {
    await runtime.files.create(resolve(file), `${JSON.stringify(start)}\n`, { mode: 0o600 });
  } catch (error) {
    if (error instanceof FileFailure && error.code === "EEXIST") {
      throw new CommandError(
        ExitCode.usage,
        `${file}: the file exists already; choose another name, or delete it first`,
        { cause: error },
      );
    }
    throw error;
  }
}

async function follow(
  file: string,
  place: {
    readonly session: HostSession;
    readonly faults: FaultWatch;
    readonly runtime: Runtime;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly events: number; readonly lost: number }> {
  const { session, faults, runtime, signal } = place;
  const places = new PlaceWatch(session, runtime.clock);
  let count = 0;
  let missing = 0;
  for (;;) {
    const isLast = signal.aborted;
    const { events, lost, more } = await session.call("take_recorded", {});
    const all = [...events, ...(await faults.changes())];
    await add(file, [...all, ...(await places.places(events))]);
    count += all.length;
    missing += lost;
    if (isLast && !more) {
      return { events: count, lost: missing };
    }
    if (!more) {
      await runtime.timers.sleep(PAUSE, signal).catch(() => undefined);
    }
  }
}

async function add(file: string, lines: readonly object[]): Promise<void> {
  await appendFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
