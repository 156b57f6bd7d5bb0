import type { AgentState } from "../../conductor-client/methods/hosts.js";
import { foldHosts } from "../../records/host-range.js";

/** Characters of names in a line; of more hosts the first ones are named. */
const ROOM = 40;

/** Hosts in a few words for a line of a terminal: `devstack[1-2500]`, or the first of them and how many there are. */
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

/** How many hosts are in which state: `2,431 of 2,500 serve, 3 failed`. Those that are still to come are not named. */
export function stateCounts(counts: ReadonlyMap<AgentState, number>): string {
  const of = (state: AgentState): number => counts.get(state) ?? 0;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const others = NOTABLE.filter((state) => of(state) > 0).map((state) => `${counted(of(state))} ${state}`);
  return [`${counted(of("serving"))} of ${counted(total)} serve`, ...others].join(", ");
}

/** States that a person looks for. */
const NOTABLE: readonly AgentState[] = ["failed", "killed", "stopped", "restarting"];

const counted = (count: number): string => count.toLocaleString("en");
