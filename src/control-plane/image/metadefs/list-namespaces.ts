import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { badRequest, notFound } from "../api/fault.js";
import { isOpen } from "./find-namespace.js";
import { associationsOf } from "./list-entries.js";
import type { Namespace } from "./metadef-store.js";
import { namespaceView } from "./namespaces.js";

/** Glance's `limit_param_default` and `api_limit_max`. */
const PAGE = 25;
const LONGEST_PAGE = 1000;

/** GET of the namespaces that the caller sees: the newest first. @throws {ImageFault} 400, 404 */
export function listNamespaces(call: ImageCall): ServiceResponse {
  const query = call.boundQuery();
  const limit = query.get("limit") ?? String(PAGE);
  if (!/^\d{1,9}$/.test(limit)) {
    throw badRequest(/^-\d+$/.test(limit) ? "limit param must be positive" : "limit param must be an integer");
  }
  const found = visibleNamespaces(call);
  const marker = query.get("marker");
  const start = marker === undefined ? 0 : found.findIndex(({ name }) => name === marker) + 1;
  if (marker !== undefined && start === 0) {
    throw notFound(`Metadata definition namespace=${marker} was not found.`);
  }
  const page = found.slice(start, start + Math.min(Number(limit), LONGEST_PAGE));
  const params = new Map(query.entries);
  params.delete("marker");
  const last = page.length === Number(limit) ? page.at(-1) : undefined;
  return json(200, {
    namespaces: page.map((namespace) => {
      const types = associationsOf(call, namespace);
      return { ...namespaceView(namespace), ...(types.length === 0 ? {} : { resource_type_associations: types }) };
    }),
    schema: "/v2/schemas/metadefs/namespaces",
    first: link(params),
    ...(last === undefined ? {} : { next: link(new Map([...params, ["marker", last.name]])) }),
  });
}

function visibleNamespaces(call: ImageCall): readonly Namespace[] {
  const visibility = call.query.get("visibility");
  if (visibility !== undefined && visibility !== "public" && visibility !== "private") {
    throw badRequest(`Invalid visibility value: ${visibility}`);
  }
  const types = call.query.get("resource_types")?.split(",");
  const { metadefs } = call.store;
  return metadefs
    .namespaces()
    .filter((namespace) => isOpen(call, namespace) && (visibility ?? namespace.visibility) === namespace.visibility)
    .filter(({ number }) => types?.some((type) => metadefs.entry(number, "resource_type", type)) ?? true);
}

function link(params: ReadonlyMap<string, string>): string {
  const text = new URLSearchParams([...params]).toString();
  return `/v2/metadefs/namespaces${text === "" ? "" : `?${text}`}`;
}
