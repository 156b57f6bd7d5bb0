import { and, where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { visibleTo } from "../engine/sharing.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";

/**
 * Checks that the caller may take a policy from a port or a network: one that it cannot see stays.
 * @param policyId null: there is none
 * @throws {HttpError} 403
 */
export function assertMayReplacePolicy(context: NetworkContext, policyId: string | null): void {
  if (
    policyId !== null &&
    !context.table(QOS_POLICIES).has(and(where`id = ${policyId}`, visibleTo(context, QOS_POLICIES)))
  ) {
    throw networkError(
      403,
      "PolicyRemoveAuthorizationError",
      `Failed to remove provided policy ${policyId} because you are not authorized.`,
    );
  }
}
