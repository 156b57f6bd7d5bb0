import type { RouteResponse } from "../../http/responses.js";
import type { AttributeMap, RecordOf } from "../../resources/resource.js";
import type { BlockStorageCall, BlockStorageRoute } from "./block-storage-call.js";
import type { BlockStorageResource, ViewLevel } from "./block-storage-resource.js";
import { listRecords } from "./lists.js";
import { renderView } from "./views.js";

/** The rules of reading; absent: everybody may. */
interface ReadRules {
  readonly list?: string;
  readonly show?: string;
  /** Whether there is a list with details. Default: true. */
  readonly hasDetails?: false;
  /** Path, if it is not the collection. */
  readonly path?: string;
  /** The first minor microversion with pages, if it is not the resource's. */
  readonly pagesFrom?: number;
  /** The key of lists, if it is not the collection. */
  readonly key?: string;
}

/** Creates the routes that list and show the records of a resource. */
export function readRoutes<M extends AttributeMap>(
  resource: BlockStorageResource<M>,
  { list, show, hasDetails, path = resource.collection, pagesFrom, key = resource.collection }: ReadRules,
): readonly BlockStorageRoute[] {
  const { from = 0 } = resource;
  const listWith = (level: ViewLevel) => (call: BlockStorageCall) => {
    if (list !== undefined) {
      call.context.authorize(list);
    }
    return listRecords(call, resource, {
      level,
      key,
      ...(pagesFrom !== undefined && { pagesFrom }),
      path: level === "show" && hasDetails !== false ? `${path}/detail` : path,
    });
  };
  const summary: ViewLevel = hasDetails === false ? "show" : "summary";
  return [
    { method: "GET", path: `/${path}`, from, handle: listWith(summary) },
    ...(hasDetails === false
      ? []
      : [{ method: "GET" as const, path: `/${path}/detail`, from, handle: listWith("show") }]),
    {
      method: "GET",
      path: `/${path}/:id`,
      from,
      handle: (call) => {
        const record = call.context.require(resource, call.param("id"));
        if (show !== undefined) {
          call.context.authorize(show, record);
        }
        return respond(call, resource, record, "show");
      },
    },
  ];
}

/** Returns a response with one record. */
export function respond<M extends AttributeMap>(
  call: BlockStorageCall,
  resource: BlockStorageResource<M>,
  record: RecordOf<M>,
  level: ViewLevel,
  status = 200,
): RouteResponse {
  return { status, body: { [resource.singular]: renderView(call, resource, record, level) } };
}

/** An empty response with status 202: the work was accepted. */
export const ACCEPTED: RouteResponse = { status: 202 };
