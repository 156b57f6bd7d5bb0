import type { ServerGroup } from "../../../records/index.js";
import type { Json } from "../../http/json.js";

/** A group as the API shows it, with the members that are not deleted. */
export function serverGroupView(group: ServerGroup, members: readonly string[], version: number): Json {
  const { uuid, name, policy, maxServerPerHost, projectId, userId } = group;
  const rules = maxServerPerHost === 0 ? {} : { max_server_per_host: maxServerPerHost };
  return {
    id: uuid,
    name,
    ...(version >= 64 ? { policy, rules } : { policies: [policy], metadata: {} }),
    members,
    ...(version >= 13 ? { project_id: projectId, user_id: userId } : {}),
  };
}
