import { noClusterIn, type StateDir } from "../../../control-plane/local/state-dir.js";
import { expandHosts } from "../../../records/host-names.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { CONTROL_PLANE, unknownHost } from "../host-settings.js";
import { ENTRY, LogFile, LogSource, type LogText, logStems } from "./log-source.js";

/**
 * Selects the lines of a shared log that are about one host: those that name it, directly or in a range. Lines must be
 * passed in order.
 * @internal
 */
export class HostLogFilter {
  readonly #host: string;
  readonly #name: RegExp;
  /** Whether a range contains the host. */
  readonly #ranges = new Map<string, boolean>();
  #last = false;

  constructor(host: string) {
    this.#host = host;
    const name = host.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    this.#name = new RegExp(`(?<![\\w.-])${name}(?![\\w-]|\\.\\w)`, "u");
  }

  /**
   * Returns whether the line is about the host. Lines that do not begin an entry, such as a stack, belong to the entry
   * before.
   */
  accepts(line: string): boolean {
    if (ENTRY.test(line)) {
      this.#last = this.#name.test(line) || (line.match(RANGES) ?? []).some((range) => this.#isIn(range));
    }
    return this.#last;
  }

  #isIn(range: string): boolean {
    const known = this.#ranges.get(range);
    if (known !== undefined) {
      return known;
    }
    let isIn = false;
    try {
      isIn = expandHosts(range).includes(this.#host);
    } catch {
      // The brackets are not a range of hosts.
    }
    if (this.#ranges.size < MAX_CACHED_RANGES) {
      this.#ranges.set(range, isIn);
    }
    return isIn;
  }
}

/** Ranges such as `rack[01-20]-node[1,3]`. */
const RANGES = /[\w.-]+(?:\[[\d,-]+\][\w.-]*)+/g;

/** Maximum number of cached ranges. */
const MAX_CACHED_RANGES = 1_000;

/** Services of the control plane whose entries can be selected. */
export const SERVICES = [
  "placement",
  "compute-api",
  "conductor",
  "scheduler",
  "identity",
  "image",
  "network",
  "ironic",
];

/** The log of `up --detach` itself, which has only messages about the start. */
const STARTER = "up";

/** A log, and the selection of its entries under one name. */
export interface SelectedLog {
  /** A host, a pool, `control-plane`, or one of its services. */
  readonly name: string;
  /** File name of the log without extension. */
  readonly stem: string;
  /** Whether the entry belongs to the name. */
  readonly accepts: (entry: LogText) => boolean;
}

interface LogPlace {
  readonly directory: StateDir;
  readonly files: Files;
}

/**
 * Finds the logs with the requested entries. Nothing needs to run.
 * @param names hosts, `control-plane`, or one of its services; none: every log.
 * @param accepts selects entries
 * @throws {ClusterError} `NoLocalCloud`
 * @throws {CommandError} no log has one of the names
 */
export async function findSources(
  names: readonly string[],
  place: LogPlace,
  accepts: (entry: LogText) => boolean,
): Promise<{ readonly sources: readonly LogSource[]; readonly missing: readonly string[] }> {
  const { selected, missing } = await selectLogs(names, place);
  const sources = selected.map(
    ({ name, stem, accepts: isOf }) =>
      new LogSource(name, new LogFile(place.directory.logs, stem), (entry) => isOf(entry) && accepts(entry)),
  );
  return { sources, missing };
}

/**
 * Selects the logs of the names, as {@link findSources} does.
 * @returns also the hosts without a log, whose agents run elsewhere
 * @throws {ClusterError} `NoLocalCloud`
 * @throws {CommandError} no log has one of the names
 */
export async function selectLogs(
  names: readonly string[],
  { directory, files }: LogPlace,
): Promise<{ readonly selected: readonly SelectedLog[]; readonly missing: readonly string[] }> {
  const stems = await logStems(directory.logs);
  if (stems.length === 0 && (await files.stat(directory.root)) === undefined) {
    throw noClusterIn(directory);
  }
  const all = (stem: string): SelectedLog => ({ name: stem, stem, accepts: () => true });
  if (names.length === 0) {
    return { selected: stems.filter((stem) => stem !== STARTER).map(all), missing: [] };
  }
  const hosts = new Set(await files.list(directory.agents));
  const pools = stems.filter((stem) => /^pool-\d+$/.test(stem) && !hosts.has(stem));
  const selected: SelectedLog[] = [];
  const missing: string[] = [];
  for (const name of new Set(names)) {
    if (SERVICES.includes(name) && !hosts.has(name)) {
      selected.push({ name, stem: CONTROL_PLANE, accepts: ofService(name) });
    } else if (stems.includes(name)) {
      selected.push(all(name));
    } else if (name !== CONTROL_PLANE && !hosts.has(name)) {
      const near = didYouMean(name, [CONTROL_PLANE, ...SERVICES]);
      const message =
        near === undefined
          ? unknownHost(name, directory.root, [...hosts])
          : `there is no host ${name}; did you mean ${near}?`;
      throw new CommandError(ExitCode.usage, message, { command: "logs" });
    } else if (pools.length === 0) {
      missing.push(name);
    }
    for (const pool of hosts.has(name) ? pools : []) {
      const filter = new HostLogFilter(name);
      selected.push({ name, stem: pool, accepts: ({ lines: [first = ""] }) => filter.accepts(first) });
    }
  }
  return { selected, missing };
}

function ofService(service: string): (entry: LogText) => boolean {
  const servicePattern = new RegExp(` service=${service}(?: |$)|"service":"${service}"`);
  return ({ lines: [first = ""] }) => servicePattern.test(first);
}
