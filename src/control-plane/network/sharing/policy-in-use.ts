import { networkError } from "../engine/network-errors.js";

/** Neutron's error for a policy without which a project would lose access to what it uses. */
export function policyInUse(objectId: string, details: string): Error {
  return networkError(
    409,
    "RbacPolicyInUse",
    `RBAC policy on object ${objectId} cannot be removed because other objects depend on it.\nDetails: ${details}`,
  );
}
