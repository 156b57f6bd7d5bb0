import type { ServiceResponse } from "../../../runtime/service.js";
import type { Query } from "../../http/request.js";
import { json } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { badRequest } from "../api/fault.js";
import { requirePolicy } from "../api/policy.js";
import type { Image } from "../images.js";
import { sees } from "./find-image.js";
import { imageView } from "./image-view.js";
import { readFilters } from "./list-filters.js";
import { listedImages } from "./list-scope.js";
import { readOrder } from "./list-sort.js";

/** Glance's `limit_param_default` and `api_limit_max`. */
const PAGE = 25;
const LONGEST_PAGE = 1000;

/** GET /v2/images. @throws {ImageFault} 400, 403 */
export function listImages(call: ImageCall): ServiceResponse {
  const query = call.boundQuery();
  const limit = readLimit(query);
  const compare = readOrder(query);
  const matches = readFilters(query);
  requirePolicy(call.caller, "get_images");
  const found = listedImages(call).filter(matches).sort(compare);
  const marker = findMarker(call, query.get("marker"));
  const rest = marker === undefined ? found : found.filter((image) => compare(image, marker) > 0);
  const page = rest.slice(0, limit);
  const last = page.length === limit ? page.at(-1) : undefined;
  const params = new Map(query.entries);
  params.delete("marker");
  return json(200, {
    images: page.map(imageView),
    first: link(params),
    schema: "/v2/schemas/images",
    ...(last === undefined ? {} : { next: link(new Map([...params, ["marker", last.id]])) }),
  });
}

function link(params: ReadonlyMap<string, string>): string {
  const text = new URLSearchParams([...params]).toString();
  return text === "" ? "/v2/images" : `/v2/images?${text}`;
}

/** @throws {ImageFault} 400 */
function readLimit(query: Query): number {
  const text = query.get("limit");
  if (text === undefined) {
    return PAGE;
  }
  if (!/^\s*[+-]?\d+\s*$/.test(text)) {
    throw badRequest("limit param must be an integer");
  }
  const limit = Number(text);
  if (limit < 0) {
    throw badRequest("limit param must be positive");
  }
  return Math.min(limit, LONGEST_PAGE);
}

/** It need not be in the list. */
function findMarker({ store, caller }: ImageCall, id: string | undefined): Image | undefined {
  if (id === undefined) {
    return undefined;
  }
  const image = store.table.get(id);
  const isMember = caller.projectId !== null && store.members.get(id, caller.projectId) !== undefined;
  if (!image || !sees(caller, image, isMember)) {
    throw badRequest(`No image found with ID ${id}`);
  }
  return image;
}
