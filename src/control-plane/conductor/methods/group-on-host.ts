import type { GroupOnHost } from "../../../conductor-client/methods/records.js";
import type { Store } from "../../store/store.js";

/** What a destination is told of the instance's server group (spec 6.9 row 5); null: it is in none, or that is deleted. */
export function groupOnHost(
  { serverGroups, migrations }: Store,
  instanceUuid: string,
  host: string,
  node: string,
): GroupOnHost | null {
  const group = serverGroups.ofInstance(instanceUuid);
  if (group === null) {
    return null;
  }
  const { uuid, policy, maxServerPerHost } = group;
  const moving = new Set(migrations.inProgress(host, node).map((migration) => migration.instanceUuid));
  const others = serverGroups.places(group.id).filter((member) => member.instanceUuid !== instanceUuid);
  const here = others.filter((member) => member.host === host || moving.has(member.instanceUuid));
  const hosts = new Set(others.flatMap((member) => member.host ?? []));
  return {
    uuid,
    policy,
    maxServerPerHost,
    here: here.map((member) => member.instanceUuid),
    hosts: policy === "affinity" ? [...hosts] : [],
  };
}
