import { notFound } from "../../http/http-error.js";
import { type Call, checkQuery, type HandlerResponse, jsonObject } from "../http/call.js";
import type { Schema } from "../http/json-schema.js";
import type { Consumer } from "../model.js";
import { EXTERNAL_ID, RC_PATTERN } from "./shared-schemas.js";

const OWNER = { project_id: EXTERNAL_ID, user_id: EXTERNAL_ID };

const USAGES_1_9: Schema = {
  type: "object",
  properties: OWNER,
  required: ["project_id"],
  additionalProperties: false,
};

const USAGES_1_38: Schema = {
  type: "object",
  properties: {
    ...OWNER,
    consumer_type: { type: "string", pattern: `${RC_PATTERN}|^all|^unknown$`, minLength: 1, maxLength: 255 },
  },
  required: ["project_id"],
  additionalProperties: false,
};

export function listProviderUsages(call: Call): HandlerResponse {
  call.can("placement:resource_providers:usages");
  const [uuid = ""] = call.params;
  const owner = call.state.providers.get(uuid);
  if (owner === undefined) {
    throw notFound(`No resource provider with uuid ${uuid} found: No resource provider with uuid ${uuid} found`);
  }
  const usages = jsonObject(
    [...owner.inventories.values()].map(({ resourceClass, used }) => [resourceClass.name, String(used)]),
  );
  const body = `{"resource_provider_generation":${owner.generation},"usages":${usages}}`;
  return { body, modified: call.unit.now };
}

export function listTotalUsages(call: Call): HandlerResponse {
  const { query } = call;
  const projectId = query.get("project_id") ?? null;
  call.can("placement:usages", { project_id: projectId });
  const byType = call.minor >= 38;
  checkQuery(call, byType ? USAGES_1_38 : USAGES_1_9);
  const userId = query.get("user_id");
  const owned = [...(call.state.projects.get(projectId ?? "")?.consumers ?? [])].filter(
    (consumer) => userId === undefined || consumer.user.externalId === userId,
  );
  const usages = byType ? usagesByType(owned, query.get("consumer_type")) : sumsJson(owned);
  return { body: `{"usages":${usages}}`, modified: call.unit.now };
}

function usagesByType(consumers: readonly Consumer[], requestedType: string | undefined): string {
  const groups = new Map<string, Consumer[]>();
  for (const consumer of consumers) {
    if (consumer.allocations.length === 0) {
      continue;
    }
    const type = consumer.type?.name ?? "unknown";
    if (requestedType !== undefined && requestedType !== "all" && requestedType !== type) {
      continue;
    }
    const key = requestedType === "all" ? "all" : type;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, [consumer]);
    } else {
      group.push(consumer);
    }
  }
  return jsonObject([...groups].map(([type, members]) => [type, sumsJson(members, members.length)]));
}

function sumsJson(consumers: readonly Consumer[], count?: number): string {
  const sums = new Map<string, number>();
  for (const { allocations } of consumers) {
    for (const { inventory, used } of allocations) {
      const { name } = inventory.resourceClass;
      sums.set(name, (sums.get(name) ?? 0) + used);
    }
  }
  const members = [...sums].map(([name, used]): [string, string] => [name, String(used)]);
  if (count !== undefined) {
    members.push(["consumer_count", String(count)]);
  }
  return jsonObject(members);
}
