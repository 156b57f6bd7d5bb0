import { schemas } from "../../http/schemas.js";
import { type Call, type HandlerResponse, jsonObject, type PlacementRoute, route } from "../http/call.js";
import type { Consumer } from "../model.js";
import { EXTERNAL_ID, RC_PATTERN } from "./shared-schemas.js";

const OWNER = { project_id: EXTERNAL_ID, user_id: EXTERNAL_ID };

const CONSUMER_TYPE = { type: "string", pattern: `${RC_PATTERN}|^all|^unknown$`, minLength: 1, maxLength: 255 };

const USAGES = schemas(
  [9, { type: "object", properties: OWNER, required: ["project_id"], additionalProperties: false }],
  [
    38,
    {
      type: "object",
      properties: { ...OWNER, consumer_type: CONSUMER_TYPE },
      required: ["project_id"],
      additionalProperties: false,
    },
  ],
);

export const USAGE_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/resource_providers/:uuid/usages", "resource_providers:usages", showProviderUsages),
  route("GET", "/usages", "usages", showTotalUsages, {
    since: 9,
    target: ({ query }) => ({ project_id: query.get("project_id") ?? null }),
  }),
];

function showProviderUsages(call: Call): HandlerResponse {
  const owner = call.provider((uuid) => `No resource provider with uuid ${uuid} found: `);
  const usages = jsonObject(
    [...owner.inventories.values()].map(({ resourceClass, used }) => [resourceClass.name, String(used)]),
  );
  const body = `{"resource_provider_generation":${owner.generation},"usages":${usages}}`;
  return { body, modified: call.unit.now };
}

function showTotalUsages(call: Call): HandlerResponse {
  const { query } = call;
  call.checkQuery(USAGES);
  const userId = query.get("user_id");
  const owned = [...(call.state.projects.get(query.get("project_id") ?? "")?.consumers ?? [])].filter(
    (consumer) => userId === undefined || consumer.user.externalId === userId,
  );
  const usages = call.minor >= 38 ? usagesByType(owned, query.get("consumer_type")) : sumsJson(owned);
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
