import { conflict } from "../../http/http-error.js";
import { type Call, type HandlerResponse, provider, readJson } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import type { Provider } from "../model.js";
import { setAggregates } from "../store/trait-and-class-changes.js";
import { PUT_AGGREGATES_1_1, PUT_AGGREGATES_1_19 } from "./shared-schemas.js";

/** The first microversion in which changes require the provider's generation. */
const GENERATION_SINCE = 19;

function aggregatesResponse(call: Call, owner: Provider, uuids: readonly string[]): HandlerResponse {
  const generation = call.minor >= GENERATION_SINCE ? `,"resource_provider_generation":${owner.generation}` : "";
  return { body: `{"aggregates":${JSON.stringify(uuids)}${generation}}`, modified: call.unit.now };
}

export function getAggregates(call: Call): HandlerResponse {
  call.can("placement:resource_providers:aggregates:list");
  const owner = provider(call, call.params[0] ?? "");
  return aggregatesResponse(
    call,
    owner,
    [...owner.aggregates].map(({ uuid }) => uuid),
  );
}

export function putAggregates(call: Call): HandlerResponse {
  call.can("placement:resource_providers:aggregates:update");
  const owner = provider(call, call.params[0] ?? "");
  if (call.minor < GENERATION_SINCE) {
    const uuids = readJson(call, PUT_AGGREGATES_1_1) as string[];
    setAggregates(call, owner, uuids, false);
    return aggregatesResponse(call, owner, uuids);
  }
  const body = readJson(call, PUT_AGGREGATES_1_19) as {
    readonly aggregates: readonly string[];
    readonly resource_provider_generation: number;
  };
  if (owner.generation !== body.resource_provider_generation) {
    throw conflict(
      "Resource provider's generation already changed. Please update the generation and try again.",
      ErrorCode.concurrentUpdate,
    );
  }
  setAggregates(call, owner, body.aggregates, true);
  return aggregatesResponse(call, owner, body.aggregates);
}
