import type { AgentState } from "../../conductor-client/methods/hosts.js";
import { hostsInShort, stateCounts } from "./host-summary.js";

/** What is known of one host of a pool. */
export interface PooledHost {
  readonly state: AgentState;
  readonly detail: string;
  readonly exitCode: number | null;
  /** When it came into this state, milliseconds since the epoch. */
  readonly since: number;
  /** How often it has failed since it last was asked to start. */
  readonly times: number;
}

/** The hosts of a pool, counted by state as they change: a sum over all at each change of one would be slow. */
export class PoolHosts {
  readonly #hosts = new Map<string, PooledHost>();
  readonly #counts = new Map<AgentState, number>();
  /** The hosts in short, while these are the same. */
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

  /** `devstack[1-2500]  2,431 of 2,500 serve, 3 failed` */
  get summary(): string {
    this.#label ??= hostsInShort(this.names);
    return `${this.#label}  ${stateCounts(this.#counts)}`;
  }

  #count(state: AgentState, change: number): void {
    this.#counts.set(state, (this.#counts.get(state) ?? 0) + change);
  }
}
