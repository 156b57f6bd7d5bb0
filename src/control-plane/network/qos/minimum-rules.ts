import type { NetworkContext } from "../engine/network-context.js";
import { findRulesOf } from "./rules-of-policies.js";

/** A guaranteed rate, which the resource request of a port contains. */
export interface MinimumRule {
  readonly id: string;
  readonly type: "minimum_bandwidth" | "minimum_packet_rate";
  /** Packet rates may have `any`: the sum of both directions. */
  readonly direction: "ingress" | "egress" | "any";
  /** Kilobits, or kilopackets, a second. */
  readonly rate: number;
}

/** Returns the minimum bandwidth and packet rate rules of policies, by the policies' ids, bandwidths first. */
export function minimumRulesOf(
  context: NetworkContext,
  policyIds: Iterable<string>,
): ReadonlyMap<string, readonly MinimumRule[]> {
  const rules = findRulesOf(context, policyIds, ["minimum_bandwidth", "minimum_packet_rate"]);
  return new Map(
    [...rules].map(([policyId, rulesOfPolicy]) => [
      policyId,
      rulesOfPolicy.map(({ id, type, parameters }): MinimumRule => {
        const { min_kbps: bandwidth, min_kpps: packets, direction } = parameters;
        return {
          id,
          type: type === "minimum_bandwidth" ? type : "minimum_packet_rate",
          direction: direction as MinimumRule["direction"],
          rate: Number(bandwidth ?? packets),
        };
      }),
    ]),
  );
}
