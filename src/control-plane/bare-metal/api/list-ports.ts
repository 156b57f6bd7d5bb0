import { badRequest, forbidden, notFound } from "../../http/http-error.js";
import { isUuidLike } from "../../python/uuid.js";
import { notAcceptable } from "../ironic-error.js";
import type { IronicPort } from "../port-store.js";
import {
  booleanArgument,
  type IronicCall,
  type IronicResponse,
  links,
  listArgument,
  macArgument,
  onlyArguments,
  uuidArgument,
} from "./call.js";
import { limitArgument, nextLink, sortDirection } from "./list-nodes.js";
import { isLogicalName, nodeOf } from "./node-routes.js";

/** The first minor version of each attribute. */
const FIELDS: Readonly<Record<string, number>> = {
  uuid: 1,
  created_at: 1,
  updated_at: 1,
  address: 1,
  extra: 1,
  internal_info: 18,
  is_smartnic: 53,
  local_link_connection: 19,
  physical_network: 34,
  pxe_enabled: 19,
  node_uuid: 1,
  portgroup_uuid: 24,
};

const DEFAULT_PORT_FIELDS: readonly string[] = ["uuid", "address"];

/** Attributes that earlier versions reject; others are omitted. */
const REJECTED_EARLIER = ["pxe_enabled", "local_link_connection", "portgroup_uuid", "physical_network", "is_smartnic"];

const FILTERS = ["node", "node_uuid", "address", "portgroup", "shard"];

const PAGING = ["marker", "limit", "sort_key", "sort_dir"];

/** Columns that cannot be sort keys. */
const NOT_SORTABLE = ["extra", "internal_info", "local_link_connection"];

/** Values of sort keys; null if all ports have the same value. */
const SORT_COLUMNS: Readonly<
  Record<string, ((port: IronicPort, nodeId: number) => string | number | boolean | null) | null>
> = {
  id: null,
  uuid: ({ uuid }) => uuid,
  address: ({ address }) => address,
  created_at: ({ created_at: time }) => time,
  updated_at: ({ updated_at: time }) => time,
  node_id: (_port, nodeId) => nodeId,
  pxe_enabled: ({ pxe_enabled: enabled }) => enabled,
  physical_network: ({ physical_network: name }) => name,
  is_smartnic: ({ is_smartnic: isSmart }) => isSmart,
  portgroup_id: null,
  name: null,
  version: null,
};

/** @param isDetailed `/detail` @throws {HttpError} 400, 403, 404, 406 */
export function listPorts(call: IronicCall, isDetailed: boolean): IronicResponse {
  const { query, minor } = call;
  onlyArguments(query, [...FILTERS, ...PAGING, ...(isDetailed ? [] : ["fields", "detail"])]);
  const filters = readFilters(call);
  const marker = query.get("marker") === undefined ? undefined : uuidArgument("marker", query.get("marker"));
  const requestedFields = isDetailed ? undefined : fieldsArgument(call);
  const sortKey = query.get("sort_key") ?? "id";
  checkPortVersion([sortKey], minor);
  const detail = detailArgument(call, requestedFields);
  const fields = isDetailed || detail === true ? undefined : (requestedFields ?? DEFAULT_PORT_FIELDS);
  const limit = limitArgument(query.get("limit"));
  const direction = sortDirection(query);
  const found = sorted(call, filtered(call, filters), sortKey, direction);
  // The address is unique, so the marker is ignored, as in Ironic.
  const from = marker === undefined || filters.isByAddress ? 0 : afterMarker(call, found, marker);
  const page = found.slice(from, from + limit);
  const next = nextLink(call, isDetailed ? "ports/detail" : "ports", { fields, limit, marker: page.at(-1)?.uuid });
  return {
    body: { ports: page.map((port) => portView(call, port, fields)), ...(page.length === limit ? { next } : {}) },
  };
}

interface PortFilters {
  readonly node: string | undefined;
  readonly address: string | undefined;
  readonly portgroup: string | undefined;
  readonly shards: readonly string[] | undefined;
  readonly isByAddress: boolean;
}

function readFilters({ query, params, minor }: IronicCall): PortFilters {
  const named = query.get("node");
  const uuid = query.get("node_uuid");
  const portgroup = query.get("portgroup");
  for (const [name, value] of [
    ["node", named],
    ["portgroup", portgroup],
  ] as const) {
    if (value !== undefined && !isUuidLike(value) && !isLogicalName(value)) {
      throw badRequest(`Expected UUID or name for ${name}: ${value}`);
    }
  }
  const nodeUuid = uuid === undefined ? undefined : uuidArgument("node_uuid", uuid);
  const address = query.get("address") === undefined ? undefined : macArgument("address", query.get("address"));
  const shards = listArgument(query.get("shard"));
  if (portgroup !== undefined && minor < 24) {
    throw notAcceptable();
  }
  if (shards !== undefined && minor < 82) {
    throw notAcceptable(82);
  }
  if (nodeUuid === undefined && named !== undefined && minor < 5 && !isUuidLike(named)) {
    throw notAcceptable();
  }
  const node = params.node ?? nodeUuid ?? named;
  if ([node, portgroup, shards].filter((one) => one !== undefined).length > 1) {
    return notPermitted();
  }
  const isByAddress = address !== undefined && node === undefined && portgroup === undefined;
  return { node, address, portgroup, shards, isByAddress };
}

/** Applies one filter by precedence, as Ironic does: node or port group, then address, then shards. */
function filtered(
  { nodes, ports, minor }: IronicCall,
  { node, address, portgroup, shards, isByAddress }: PortFilters,
): IronicPort[] {
  if (portgroup !== undefined) {
    throw notFound(`Portgroup ${portgroup} could not be found.`);
  }
  if (node !== undefined) {
    return ports.of(nodeOf({ nodes, params: { node }, minor }).uuid);
  }
  if (isByAddress && address !== undefined) {
    return [ports.withAddress(address) ?? []].flat();
  }
  const all = [...ports.all()];
  return shards === undefined
    ? all
    : all.filter(({ node_uuid: uuid }) => shards.includes(nodes.find(uuid)?.shard?.toLowerCase() ?? ""));
}

function sorted({ nodes }: IronicCall, ports: IronicPort[], key: string, direction: "asc" | "desc"): IronicPort[] {
  if (NOT_SORTABLE.includes(key)) {
    throw badRequest(`The sort_key value ${key} is an invalid field for sorting`);
  }
  const read = Object.hasOwn(SORT_COLUMNS, key) ? SORT_COLUMNS[key] : undefined;
  if (read === undefined) {
    throw badRequest(`The sort_key value "${key}" is an invalid field for sorting`);
  }
  if (read !== null) {
    // The sort is stable: ports with equal values stay in order of creation.
    const sortValue = (port: IronicPort) => read(port, nodes.find(port.node_uuid)?.id ?? 0);
    ports.sort((one, other) => compare(sortValue(one), sortValue(other)));
  }
  return direction === "asc" ? ports : ports.reverse();
}

/** Compares like the database: null sorts first. */
function compare(one: string | number | boolean | null, other: string | number | boolean | null): number {
  if (one === other) {
    return 0;
  }
  return one === null || (other !== null && one < other) ? -1 : 1;
}

/** @throws {HttpError} 404 */
function afterMarker({ ports }: IronicCall, found: readonly IronicPort[], marker: string): number {
  const { uuid } = ports.get(marker);
  return found.findIndex((port) => port.uuid === uuid) + 1;
}

/** Reads `detail=True`, which exists since 1.43. @throws {HttpError} 400 */
export function detailArgument({ query, minor }: IronicCall, fields?: readonly string[]): boolean | undefined {
  const text = query.get("detail");
  if (text === undefined) {
    return undefined;
  }
  const detail = booleanArgument("detail", text);
  if (minor < 43) {
    throw badRequest(`Invalid query parameter ?detail=${detail ? "True" : "False"} received.`);
  }
  if (detail && fields) {
    throw badRequest("Can not specify ?detail=True and fields in the same request.");
  }
  return detail;
}

/** @throws {HttpError} 403 */
export function notPermitted(): never {
  throw forbidden("Operation not permitted.");
}

/** Returns the requested attributes; undefined for all. @throws {HttpError} 406 */
export function fieldsArgument({ query, minor }: IronicCall): readonly string[] | undefined {
  const fields = listArgument(query.get("fields"));
  if (fields && minor < 8) {
    throw notAcceptable();
  }
  checkPortVersion(fields ?? [], minor);
  return fields;
}

/** @throws {HttpError} 406 if an attribute is newer than the request's version */
export function checkPortVersion(names: readonly string[], minor: number): void {
  if (names.some((name) => REJECTED_EARLIER.includes(name) && minor < (FIELDS[name] ?? 1))) {
    throw notAcceptable();
  }
}

/** @param fields undefined for all @throws {HttpError} 400 for an unknown attribute */
export function portView(
  { root, minor }: Pick<IronicCall, "root" | "minor">,
  port: IronicPort,
  fields?: readonly string[],
): Readonly<Record<string, unknown>> {
  const unknown = fields?.filter((name) => !Object.hasOwn(FIELDS, name) && name !== "links") ?? [];
  if (unknown.length > 0) {
    throw badRequest(`Field(s) "${unknown.join(", ")}" are not valid`);
  }
  const { vif, ...attributes } = port;
  const values: Readonly<Record<string, unknown>> = {
    ...attributes,
    internal_info: vif === null ? {} : { tenant_vif_port_id: vif },
    portgroup_uuid: null,
  };
  const names = Object.keys(FIELDS).filter(
    (name) => minor >= (FIELDS[name] ?? 1) && (fields === undefined || fields.includes(name)),
  );
  return {
    ...Object.fromEntries(names.map((name) => [name, values[name]])),
    links: links(root, `ports/${port.uuid}`),
  };
}
