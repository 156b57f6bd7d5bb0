import type { HostStatus } from "../../control-plane/local/cluster-status.js";

/** `2 running, 1 shut off (1 stale)`, `1 shut off (1 moving)`; `-` without a hypervisor. */
export function guestSummary({ guests }: Pick<HostStatus, "guests">): string {
  if (guests === null) {
    return "-";
  }
  const states = counts(guests.map(({ state }) => state));
  const strange = counts(guests.flatMap(({ record }) => (record === "here" ? [] : [record])));
  return `${states || "none"}${strange && ` (${strange})`}`;
}

function counts(values: readonly string[]): string {
  return [...new Set(values)]
    .sort()
    .map((value) => `${values.filter((other) => other === value).length} ${value}`)
    .join(", ");
}
