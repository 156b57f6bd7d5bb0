import type { GroupOnHost } from "../../conductor-client/methods/records.js";
import { SERVER_GROUP_POLICIES } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { type ObjectData, objectOf } from "../objects/primitive.js";
import { INSTANCE_CALLS } from "./instances.js";
import { MIGRATION_CALLS } from "./migrations.js";
import { type CallTools, type ConductorCalls, nullIf } from "./nova-conductor.js";

/** Nova's computes determine this themselves, with several calls. */
export const SERVER_GROUP_CALLS = {
  server_group_on_host: async ({ instanceUuid, host, node }, tools) => {
    const pendingGroup = tools.nova.ask("InstanceGroup", "get_by_instance_uuid", [instanceUuid], {}, tools.options);
    const found = await nullIf(pendingGroup, "InstanceGroupNotFound");
    const group = found === null ? null : readGroup(objectOf(found, "InstanceGroup")["nova_object.data"]);
    if (group === null) {
      return null;
    }
    const { members, ...rest } = group;
    const others = members.filter((uuid) => uuid !== instanceUuid);
    return {
      ...rest,
      here: rest.policy === "anti-affinity" ? await onHost(others, host, node, tools) : [],
      hosts: rest.policy === "affinity" ? await hostsOf(others, tools) : [],
    };
  },
} satisfies Partial<ConductorCalls>;

interface Group extends Omit<GroupOnHost, "here" | "hosts"> {
  readonly members: readonly string[];
}

/** Returns null for a policy that is not enforced, as in groups of old releases. */
function readGroup({ uuid, policy, _rules: rules, members }: ObjectData): Group | null {
  const known = SERVER_GROUP_POLICIES.find((name) => name === policy);
  if (known === undefined || typeof uuid !== "string" || !Array.isArray(members)) {
    return null;
  }
  const most = Number(isObject(rules) ? (rules.max_server_per_host ?? 0) : 0);
  return { uuid, policy: known, maxServerPerHost: Number.isSafeInteger(most) ? most : 0, members: members.map(String) };
}

async function onHost(
  others: readonly string[],
  host: string,
  node: string,
  tools: CallTools,
): Promise<readonly string[]> {
  const instances = await INSTANCE_CALLS.instances_by_host({ host }, tools);
  const moves = await MIGRATION_CALLS.migrations_in_progress({ host, node }, tools);
  const here = new Set([...instances.map(({ uuid }) => uuid), ...moves.map((move) => move.instanceUuid)]);
  return others.filter((uuid) => here.has(uuid));
}

async function hostsOf(others: readonly string[], tools: CallTools): Promise<readonly string[]> {
  const filters = { uuids: others, deleted: false };
  const instances = await INSTANCE_CALLS.instances_by_filters({ filters }, tools);
  return [...new Set(instances.flatMap(({ host }) => host ?? []))];
}
