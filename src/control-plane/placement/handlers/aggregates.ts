import { conflict } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { type Call, type HandlerResponse, type PlacementRoute, route } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import type { Provider } from "../model.js";
import { setAggregates } from "../store/trait-and-class-changes.js";
import { UUID } from "./shared-schemas.js";

/** The first microversion in which changes require the provider's generation. */
const GENERATION_SINCE = 19;

const AGGREGATES = { type: "array", items: UUID, uniqueItems: true };

const PUT_1_1 = schemas<readonly string[]>([0, AGGREGATES]);

const PUT_1_19 = schemas<{ readonly aggregates: readonly string[]; readonly resource_provider_generation: number }>([
  0,
  {
    type: "object",
    properties: { aggregates: AGGREGATES, resource_provider_generation: { type: "integer" } },
    required: ["aggregates", "resource_provider_generation"],
    additionalProperties: false,
  },
]);

export const AGGREGATE_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/resource_providers/:uuid/aggregates", "resource_providers:aggregates:list", list, {
    since: 1,
    contentFirst: true,
  }),
  route("PUT", "/resource_providers/:uuid/aggregates", "resource_providers:aggregates:update", put, {
    since: 1,
    contentFirst: true,
  }),
];

function list(call: Call): HandlerResponse {
  const owner = call.provider();
  return aggregatesResponse(
    call,
    owner,
    [...owner.aggregates].map(({ uuid }) => uuid),
  );
}

function put(call: Call): HandlerResponse {
  const owner = call.provider();
  if (call.minor < GENERATION_SINCE) {
    const uuids = call.body(PUT_1_1);
    setAggregates(call, owner, uuids, false);
    return aggregatesResponse(call, owner, uuids);
  }
  const body = call.body(PUT_1_19);
  if (owner.generation !== body.resource_provider_generation) {
    throw conflict(
      "Resource provider's generation already changed. Please update the generation and try again.",
      ErrorCode.concurrentUpdate,
    );
  }
  setAggregates(call, owner, body.aggregates, true);
  return aggregatesResponse(call, owner, body.aggregates);
}

function aggregatesResponse(call: Call, owner: Provider, uuids: readonly string[]): HandlerResponse {
  const generation = call.minor >= GENERATION_SINCE ? `,"resource_provider_generation":${owner.generation}` : "";
  return { body: `{"aggregates":${JSON.stringify(uuids)}${generation}}`, modified: call.unit.now };
}
