import type { Credentials } from "../../credentials.js";
import type { BlockStorageCaller } from "./block-storage-context.js";

/** Roles that a role implies, as Keystone's do. */
const IMPLIED_ROLES: Readonly<Record<string, readonly string[]>> = {
  admin: ["manager", "member", "reader"],
  manager: ["member", "reader"],
  member: ["reader"],
};

/** @param service the sender of the request's service token */
export function callerOf(credentials: Credentials, service: Credentials | undefined): BlockStorageCaller {
  const roles = [...new Set(credentials.roles.flatMap((role) => [role, ...(IMPLIED_ROLES[role] ?? [])]))];
  return {
    credentials,
    projectId: credentials.projectId ?? "",
    userId: credentials.userId,
    roles,
    isAdmin: roles.includes("admin"),
    isService: service?.roles.includes("service") === true,
  };
}
