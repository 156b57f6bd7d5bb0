import type { Cluster } from "./cluster.js";
import { counted } from "./format.js";

/** Returns what the removal of a host causes for its servers, guests and allocations, as sentences. */
export function removalConsequence(
  host: string,
  { tables, serversOfHost }: Pick<Cluster, "tables" | "serversOfHost">,
): string {
  const servers = serversOfHost.get(host);
  const guests = tables.guests.get(host)?.guests ?? [];
  const ownGuests = new Set(servers.map(({ uuid }) => uuid));
  const others = guests.filter(({ uuid }) => !ownGuests.has(uuid)).length;
  const isFenced = tables.host.get(host)?.forcedDown === true;
  const sentences = ["Its compute service, its providers and their allocations are deleted."];
  if (servers.length > 0) {
    sentences.push(
      `It has ${counted(servers.length, "server")}: the removal is rejected unless they are evacuated first.`,
      "Evacuated servers are rebuilt on other hosts, and their guests here are destroyed.",
    );
  }
  if (servers.length > 0 || isFenced) {
    sentences.push(
      "Its agent starts once more, to destroy guests of evacuated servers and to remove their allocations.",
    );
  } else if (others > 0) {
    sentences.push(
      `${counted(others, "guest")} without a server ${others === 1 ? "stays" : "stay"} on its hypervisor.`,
    );
  }
  return sentences.join(" ");
}
