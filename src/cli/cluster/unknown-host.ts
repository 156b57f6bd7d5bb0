import { foldHosts } from "../../records/host-range.js";
import { didYouMean } from "../../runtime/did-you-mean.js";

/** The message about a host that a state directory does not have. @param known those that it has */
export function unknownHost(host: string, root: string, known: readonly string[]): string {
  const near = didYouMean(host, known);
  const there = known.length === 0 ? "there are none" : `there are ${foldHosts(known)}`;
  return `there is no host ${host} in ${root}; ${near === undefined ? there : `did you mean ${near}?`}`;
}
