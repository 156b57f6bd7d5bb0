import type { SecurityGroup } from "../../../store/security-groups.js";
import { DEFAULT_GROUP } from "../../../store/security-groups.js";
import type { Store } from "../../../store/store.js";
import { conflict } from "../../api/fault.js";

/** The project's group of that id, else of that name. Null: there is none. @throws {Fault} 409 */
export function findGroup({ securityGroups }: Store, projectId: string, nameOrId: string): SecurityGroup | null {
  const own = securityGroups.get(nameOrId.toLowerCase());
  if (own?.projectId === projectId) {
    return own;
  }
  if (nameOrId === DEFAULT_GROUP) {
    return securityGroups.ensureDefault(projectId);
  }
  const [found = null, second] = securityGroups.named(projectId, nameOrId);
  if (second) {
    throw conflict(`Multiple security_group matches found for name '${nameOrId}', use an ID to be more specific.`);
  }
  return found;
}
