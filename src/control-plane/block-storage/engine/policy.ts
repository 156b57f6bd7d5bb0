import { createPolicy } from "../../policy/policy.js";
import { BLOCK_STORAGE_POLICIES } from "../policies.js";

const POLICY = createPolicy<string>(BLOCK_STORAGE_POLICIES);

/** @param projectId the project of the record to which the rule applies */
export function isAllowed(
  caller: { readonly projectId: string; readonly roles: readonly string[]; readonly isAdmin: boolean },
  rule: string,
  projectId: string,
): boolean {
  return POLICY.allows(rule, {
    credentials: { project_id: caller.projectId, is_admin: caller.isAdmin, roles: caller.roles },
    roles: new Set(caller.roles),
    target: { project_id: projectId },
  });
}
