import { badRequest } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { nodeNotFound, notAcceptable } from "../ironic-error.js";
import type { IronicNode, NodeStore } from "../node-store.js";
import { PROVISION_STATES } from "../provision-states.js";
import {
  booleanArgument,
  type IronicCall,
  type IronicResponse,
  integerArgument,
  listArgument,
  onlyArguments,
  uuidArgument,
} from "./call.js";
import { checkFields, DEFAULT_FIELDS, firstMinorOf, nodeView } from "./node-view.js";

/** `[api] max_limit` */
const MAX_LIMIT = 1000;

type Keep = (node: IronicNode) => boolean;

interface Filter {
  /** The first minor version with this filter; earlier ones respond with 406. */
  readonly from?: number;
  /** @throws {HttpError} 400 */
  keep(value: string): Keep;
}

function equals(field: keyof IronicNode, from: number): Filter {
  return { from, keep: (value) => (node) => node[field] === value };
}

function isTrue(name: string, read: (node: IronicNode) => boolean, from = 1): Filter {
  return {
    from,
    keep: (value) => {
      const expected = booleanArgument(name, value);
      return (node) => read(node) === expected;
    },
  };
}

const FILTERS: Readonly<Record<string, Filter>> = {
  instance_uuid: {
    keep: (value) => {
      const uuid = uuidArgument("instance_uuid", value);
      return (node) => node.instance_uuid === uuid;
    },
  },
  associated: isTrue("associated", (node) => node.instance_uuid !== null),
  maintenance: isTrue("maintenance", (node) => node.maintenance),
  retired: isTrue("retired", (node) => node.retired),
  provision_state: {
    from: 9,
    keep: (value) => {
      if (!PROVISION_STATES.has(value)) {
        throw badRequest(`Provision state "${value}" is not valid`);
      }
      return (node) => node.provision_state === value;
    },
  },
  driver: equals("driver", 16),
  resource_class: equals("resource_class", 21),
  fault: equals("fault", 42),
  conductor_group: { from: 46, keep: (value) => (node) => node.conductor_group === value.toLowerCase() },
  owner: equals("owner", 50),
  lessee: equals("lessee", 65),
  shard: {
    from: 82,
    keep: (value) => {
      const requestedShards = new Set(listArgument(value));
      return (node) => node.shard !== null && requestedShards.has(node.shard.toLowerCase());
    },
  },
  sharded: isTrue("sharded", (node) => node.shard !== null, 82),
};

const PAGING = ["marker", "limit", "sort_key", "sort_dir"];

const NOT_SORTABLE = new Set(
  "properties driver_info extra instance_info driver_internal_info clean_step deploy_step raid_config target_raid_config traits network_data".split(
    " ",
  ),
);

/** Handles GET /nodes and /nodes/detail. @param isDetailed `/nodes/detail` */
export function listNodes(call: IronicCall, isDetailed: boolean): IronicResponse {
  const { nodes, query, minor } = call;
  onlyArguments(query, [...Object.keys(FILTERS), ...PAGING, ...(isDetailed ? [] : ["fields", "detail"])]);
  const fields = isDetailed ? undefined : fieldsOf(query, minor);
  const filters = filtersOf(query, minor);
  const limit = limitArgument(query.get("limit"));
  const sorted = sort(nodes, query, minor);
  const page = takePage(sorted, filters, afterMarker(nodes, sorted, query.get("marker")), limit);
  const last = page.at(-1);
  // An instance has at most one node, so there is no next page.
  const more = last !== undefined && page.length === limit && query.get("instance_uuid") === undefined;
  const repeated = ["associated", "maintenance", "retired"].filter((name) => {
    const value = query.get(name);
    return value !== undefined && booleanArgument(name, value);
  });
  const path = isDetailed ? "nodes/detail" : "nodes";
  return {
    body: {
      nodes: page.map(nodeView(call, fields)),
      ...(more ? { next: nextLink(call, path, { repeated, fields, limit, marker: last.uuid }) } : {}),
    },
  };
}

function fieldsOf(query: Query, minor: number): readonly string[] | undefined {
  const fields = listArgument(query.get("fields"));
  const text = query.get("detail");
  const detail = text === undefined ? undefined : booleanArgument("detail", text);
  if (fields) {
    checkFields(fields, minor);
  }
  if (detail !== undefined && minor < 43) {
    throw notAcceptable(43);
  }
  if (detail && fields) {
    throw badRequest("Can not specify ?detail=True and fields in the same request.");
  }
  if (detail) {
    return undefined;
  }
  return fields && fields.length > 0 ? fields : DEFAULT_FIELDS;
}

function filtersOf(query: Query, minor: number): readonly Keep[] {
  return Object.entries(FILTERS).flatMap(([name, { from = 1, keep }]) => {
    const value = query.get(name);
    if (value === undefined) {
      return [];
    }
    if (minor < from) {
      throw name === "provision_state" ? notAcceptable() : notAcceptable(from);
    }
    return [keep(value)];
  });
}

/** @throws {HttpError} 400 */
export function limitArgument(text: string | undefined): number {
  if (text === undefined) {
    return MAX_LIMIT;
  }
  const limit = integerArgument("limit", text);
  if (limit <= 0) {
    throw badRequest("Limit must be positive");
  }
  return Math.min(limit, MAX_LIMIT);
}

function sort(nodes: NodeStore, query: Query, minor: number): readonly IronicNode[] {
  const key = query.get("sort_key") ?? "id";
  if (minor < (firstMinorOf(key) ?? 1)) {
    throw notAcceptable();
  }
  const direction = sortDirection(query);
  if (NOT_SORTABLE.has(key)) {
    throw badRequest(`The sort_key value ${key} is an invalid field for sorting`);
  }
  if (key !== "id" && (firstMinorOf(key) === undefined || key === "conductor" || key === "allocation_uuid")) {
    throw badRequest(`The sort_key value "${key}" is an invalid field for sorting`);
  }
  const all = [...nodes.all()];
  if (key !== "id") {
    all.sort((left, right) => order(valueAt(left, key), valueAt(right, key)) || left.id - right.id);
  }
  return direction === "asc" ? all : all.reverse();
}

/** @throws {HttpError} 400 */
export function sortDirection(query: Query): "asc" | "desc" {
  const direction = query.get("sort_dir") ?? "asc";
  if (direction !== "asc" && direction !== "desc") {
    throw badRequest(`Invalid sort direction: ${direction}. Acceptable values are 'asc' or 'desc'`);
  }
  return direction;
}

const valueAt = (node: IronicNode, key: string): unknown => node[key as keyof IronicNode];

/** Compares like the database: null sorts first. */
function order(left: unknown, right: unknown): number {
  const [a, b] = [String(left ?? ""), String(right ?? "")];
  return a < b ? -1 : a > b ? 1 : 0;
}

function afterMarker(nodes: NodeStore, sorted: readonly IronicNode[], marker: string | undefined): number {
  if (marker === undefined) {
    return 0;
  }
  const uuid = uuidArgument("marker", marker);
  if (!nodes.find(uuid)) {
    throw nodeNotFound(uuid);
  }
  return sorted.findIndex((node) => node.uuid === uuid) + 1;
}

function takePage(
  sorted: readonly IronicNode[],
  filters: readonly Keep[],
  from: number,
  limit: number,
): readonly IronicNode[] {
  const page: IronicNode[] = [];
  for (let index = from; index < sorted.length && page.length < limit; index += 1) {
    const node = sorted[index];
    if (node && filters.every((keep) => keep(node))) {
      page.push(node);
    }
  }
  return page;
}

/**
 * Creates the next page's link. As in Ironic it has no other filters than the flags in `repeated`; clients repeat
 * theirs.
 */
export function nextLink(
  { query, root }: IronicCall,
  path: string,
  page: {
    readonly repeated?: readonly string[];
    readonly fields: readonly string[] | undefined;
    readonly limit: number;
    readonly marker: string | undefined;
  },
): string {
  const detail = query.get("detail");
  const parts = [
    `sort_key=${query.get("sort_key") ?? "id"}`,
    `sort_dir=${query.get("sort_dir") ?? "asc"}`,
    ...(page.repeated ?? []).map((name) => `${name}=True`),
    ...(detail === undefined ? [] : [`detail=${booleanArgument("detail", detail) ? "True" : "False"}`]),
    ...(page.fields ? [`fields=${page.fields.join(",")}`] : []),
    `limit=${page.limit}`,
    `marker=${page.marker}`,
  ];
  return `${root}/v1/${path}?${parts.join("&")}`;
}
