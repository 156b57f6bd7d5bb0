import type { ClusterSummary } from "../../control-plane/local/cluster-summary.js";

/** Hosts that are named; of the others only how many they are is said. */
const NAMED = 20;

/** The summary as lines of a name and what is to be said of it. */
export function summaryText(summary: ClusterSummary): string {
  const { hosts, down, disabled, usages, runningGuests, serversInError, moreInError } = summary;
  return [
    `hosts: ${hosts}, ${hosts - down.length} up`,
    `down: ${named(down)}`,
    `disabled: ${named(disabled)}`,
    ...Object.entries(usages).map(([name, { used, total }]) => `${name}: ${used} of ${total} used`),
    `guests: ${runningGuests} running`,
    `servers in error: ${serversInError}${moreInError ? " or more" : ""}`,
    "Amounts are what compute nodes report; --all shows each host, with what Placement accounts.",
  ].join("\n");
}

function named(hosts: readonly string[]): string {
  const listedHosts = hosts.slice(0, NAMED).join(", ");
  const more = hosts.length > NAMED ? ` and ${hosts.length - NAMED} more` : "";
  return hosts.length === 0 ? "none" : `${hosts.length} (${listedHosts}${more})`;
}
