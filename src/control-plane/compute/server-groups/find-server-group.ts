import type { ServerGroup } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";

/** The group, if the caller may know of it. */
export function findServerGroup(
  { store }: Pick<ComputeDeps, "store">,
  { isAdmin, credentials }: Call,
  uuid: string,
): ServerGroup | undefined {
  const group = store.serverGroups.get(uuid);
  return group && (isAdmin || group.projectId === credentials.projectId) ? group : undefined;
}

export const groupNotFound = (uuid: string): string => `Instance group ${uuid} could not be found.`;
