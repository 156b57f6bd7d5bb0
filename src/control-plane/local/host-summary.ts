import type { AgentState } from "../../conductor-client/methods/session.js";
import { foldHosts } from "../../records/host-names.js";

/** Max characters of host names in a line; beyond it, only the first hosts are named. */
const ROOM = 40;

/** Abbreviates hosts for a line of a terminal: `devstack[1-2500]`, or the first ones with the total. */
export function hostsInShort(hosts: readonly string[]): string {
  const folded = foldHosts(hosts);
  if (folded.length <= ROOM) {
    return folded;
  }
  const parts = folded.split(/,(?![^[]*\])/);
  const fitting = parts.findIndex((_part, index) => parts.slice(0, index + 1).join(",").length > ROOM);
  const first = parts.slice(0, Math.max(1, fitting)).join(",");
  return `${first.length <= ROOM ? first : hosts[0]} and more, ${counted(hosts.length)} hosts`;
}

/** Renders counts of hosts by state: `2,431 of 2,500 serve, 3 failed`. Hosts that have yet to start are not listed. */
function stateCounts(counts: ReadonlyMap<AgentState, number>): string {
  const of = (state: AgentState): number => counts.get(state) ?? 0;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const others = NOTABLE.filter((state) => of(state) > 0).map((state) => `${counted(of(state))} ${state}`);
  return [`${counted(of("serving"))} of ${counted(total)} serve`, ...others].join(", ");
}

/** States that are listed. */
const NOTABLE: readonly AgentState[] = ["failed", "killed", "stopped", "restarting"];

const counted = (count: number): string => count.toLocaleString("en");

interface PooledHost {
  readonly state: AgentState;
  readonly detail: string;
  readonly exitCode: number | null;
  /** Time of the state's start, milliseconds since the epoch. */
  readonly since: number;
  /** Number of failures since its start was last requested. */
  readonly times: number;
}

/**
 * Hosts of a pool with counts by state. Counts are updated per change, since summing over all hosts each time would be
 * slow.
 */
export class PoolHosts {
  readonly #hosts = new Map<string, PooledHost>();
  readonly #counts = new Map<AgentState, number>();
  /** Abbreviated host names, cached until the hosts change. */
  #label: string | undefined;

  get names(): readonly string[] {
    return [...this.#hosts.keys()];
  }

  get size(): number {
    return this.#hosts.size;
  }

  get(host: string): PooledHost | undefined {
    return this.#hosts.get(host);
  }

  put(host: string, next: PooledHost): void {
    const before = this.#hosts.get(host);
    if (before === undefined) {
      this.#label = undefined;
    } else {
      this.#count(before.state, -1);
    }
    this.#hosts.set(host, next);
    this.#count(next.state, 1);
  }

  remove(host: string): void {
    const before = this.#hosts.get(host);
    if (before !== undefined) {
      this.#hosts.delete(host);
      this.#count(before.state, -1);
      this.#label = undefined;
    }
  }

  count(...states: readonly AgentState[]): number {
    return states.reduce((sum, state) => sum + (this.#counts.get(state) ?? 0), 0);
  }

  of(...states: readonly AgentState[]): readonly string[] {
    return [...this.#hosts].filter(([, { state }]) => states.includes(state)).map(([host]) => host);
  }

  /** A summary such as `devstack[1-2500]  2,431 of 2,500 serve, 3 failed`. */
  get summary(): string {
    this.#label ??= hostsInShort(this.names);
    return `${this.#label}  ${stateCounts(this.#counts)}`;
  }

  #count(state: AgentState, change: number): void {
    this.#counts.set(state, (this.#counts.get(state) ?? 0) + change);
  }
}
