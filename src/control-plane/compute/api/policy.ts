import type { Call } from "./call.js";
import { Fault } from "./fault.js";

/** Nova's defaults: a rule is either for administrators, or for them and the project that owns the thing. */
export function requireAdmin(call: Call, rule: string): void {
  if (!call.isAdmin) {
    throw denied(rule);
  }
}

/** Lets those change what belongs to a project who have `member` in it, and administrators of the deployment. */
export function requireMember(call: Call, rule: string): void {
  if (!call.isAdmin && !(call.credentials.roles.includes("member") && call.credentials.projectId !== null)) {
    throw denied(rule);
  }
}

/** Lets those see what belongs to a project who have a role in it, and administrators of the deployment. */
export function requireReader(call: Call, rule: string): void {
  const { roles, projectId } = call.credentials;
  if (!call.isAdmin && !(projectId !== null && (roles.includes("reader") || roles.includes("member")))) {
    throw denied(rule);
  }
}

export const denied = (rule: string): Fault => new Fault(403, `Policy doesn't allow ${rule} to be performed.`);
