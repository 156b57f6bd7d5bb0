import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { and, type Condition, isOneOf, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { findRecord, storedAttributes, updateRecord } from "../engine/records.js";
import { visibleTo } from "../engine/sharing.js";
import { ADDRESS_BITS } from "../ip/addresses.js";
import { formatNetwork, type IpNetwork, parseNetwork } from "../ip/networks.js";
import { type IpRangeSet, intersect, rangeOf, subtract, summarize, union } from "../ip/ranges.js";
import { NETWORKS } from "../resources/networks.js";
import { ADDRESS_SCOPES, SUBNETPOOLS } from "../resources/subnet-pools.js";
import { SUBNETS } from "../resources/subnets.js";
import { cidrsOf, prefixesOf } from "./subnet-prefixes.js";

type SubnetPool = NetworkRecord<typeof SUBNETPOOLS>;
type Input = NetworkInput<typeof SUBNETPOOLS>;

/** The shortest prefix that a pool allows unless it names one. */
const MIN_PREFIX = { 4: 8, 6: 64 } as const;

export const SUBNET_POOL_BEHAVIOUR: Behaviour<typeof SUBNETPOOLS.attributes> = {
  prepareCreate,
  afterCreate: (context, pool) => validateScope(context, pool),
  prepareUpdate,
  afterUpdate: (context, pool) => validateScope(context, pool),
  beforeDelete,
  actions: {
    add_prefixes: (context, pool, body) => {
      const added = readPrefixes(body);
      return {
        prefixes: [...changePool(context, pool, { prefixes: [...pool.prefixes, ...added.map(formatNetwork)] })],
      };
    },
    remove_prefixes: removePrefixes,
    onboard_network_subnets: onboardSubnets,
  },
};

function prepareCreate(context: NetworkContext, input: Input): Partial<SubnetPool> {
  const columns = toColumns(input);
  if (input.is_default) {
    assertNoDefault(context, columns.ip_version);
  }
  assertScopeExists(context, input);
  return columns;
}

function prepareUpdate(context: NetworkContext, pool: SubnetPool, changes: Input): Partial<SubnetPool> {
  const { prefixes } = changes;
  if (prefixes !== undefined && !isSubset(pool.prefixes, prefixes)) {
    throw networkError(
      400,
      "IllegalSubnetPoolPrefixUpdate",
      "Illegal update to prefixes: Existing prefixes must be a subset of the new prefixes.",
    );
  }
  const columns = toColumns({ ...pool, ...changes });
  if (changes.is_default && !pool.is_default) {
    assertNoDefault(context, columns.ip_version);
  }
  assertScopeIsOwn(context, pool);
  assertScopeExists(context, changes);
  return { ...storedAttributes(SUBNETPOOLS, changes), ...columns };
}

/** The columns that follow from prefixes and lengths. */
type PrefixColumns = Pick<
  SubnetPool,
  "prefixes" | "ip_version" | "min_prefixlen" | "max_prefixlen" | "default_prefixlen"
>;

function toColumns(input: Input): PrefixColumns {
  const networks = (input.prefixes ?? []).flatMap((prefix) => parseNetwork(prefix) ?? []);
  const [first] = networks;
  if (first === undefined) {
    throw networkError(400, "EmptySubnetPoolPrefixList", "Empty subnet pool prefix list.");
  }
  const { version } = first;
  if (networks.some((network) => network.version !== version)) {
    throw networkError(400, "PrefixVersionMismatch", "Cannot mix IPv4 and IPv6 prefixes in a subnet pool.");
  }
  const bits = ADDRESS_BITS[version];
  const min = input.min_prefixlen ?? MIN_PREFIX[version];
  const max = input.max_prefixlen ?? bits;
  const chosen = input.default_prefixlen ?? min;
  assertBounds(min <= max, ["min_prefixlen", min], ["max_prefixlen", max]);
  assertBounds(max <= bits, ["max_prefixlen", max], ["ip_version_max", bits]);
  assertBounds(chosen >= min, ["default_prefixlen", chosen], ["min_prefixlen", min]);
  assertBounds(chosen <= max, ["default_prefixlen", chosen], ["max_prefixlen", max]);
  return {
    prefixes: compact(networks),
    ip_version: version,
    min_prefixlen: min,
    max_prefixlen: max,
    default_prefixlen: chosen,
  };
}

type Bound = readonly [name: string, value: number];

function assertBounds(isLegal: boolean, [name, value]: Bound, [otherName, otherValue]: Bound): void {
  if (!isLegal) {
    throw networkError(
      400,
      "IllegalSubnetPoolPrefixBounds",
      `Illegal prefix bounds: ${name}=${value}, ${otherName}=${otherValue}.`,
    );
  }
}

/** Merges overlapping and adjacent networks. */
function compact(networks: readonly IpNetwork[]): readonly string[] {
  return toPrefixes(union(networks.map(rangeOf)), networks[0]?.version ?? 4);
}

function toPrefixes(set: IpRangeSet, version: 4 | 6): readonly string[] {
  return set.flatMap((range) => summarize(range, version)).map(formatNetwork);
}

function isSubset(inner: readonly string[], outer: readonly string[]): boolean {
  const [version] = prefixesOf({ prefixes: inner }).map((network) => network.version);
  const candidates = prefixesOf({ prefixes: outer }).filter((network) => network.version === version);
  return subtract(setOf(prefixesOf({ prefixes: inner })), setOf(candidates)).length === 0;
}

function setOf(networks: readonly IpNetwork[]): IpRangeSet {
  return union(networks.map(rangeOf));
}

/** Each IP version has at most one default pool. @throws {HttpError} 400 */
function assertNoDefault(context: NetworkContext, version: number): void {
  if (findDefaultPool(context, version) !== undefined) {
    throw invalidOperation(
      "A default subnetpool for this IP family has already been set. Only one default may exist per IP family",
    );
  }
}

/** Returns the default pool of an IP version, if the caller may see it. */
export function findDefaultPool(context: NetworkContext, version: number): SubnetPool | undefined {
  return context
    .table(SUBNETPOOLS)
    .first(and(where`is_default = 1 AND ip_version = ${version}`, visibleTo(context, SUBNETPOOLS)));
}

/** @throws {HttpError} 404 */
function assertScopeExists(context: NetworkContext, { address_scope_id: scopeId }: Input): void {
  if (scopeId) {
    findRecord(context, ADDRESS_SCOPES, scopeId);
  }
}

/** A pool in the shared scope of another project cannot change. @throws {HttpError} 400 */
function assertScopeIsOwn(context: NetworkContext, { id, address_scope_id: scopeId }: SubnetPool): void {
  const { caller } = context;
  if (
    scopeId !== null &&
    !caller.isAdmin &&
    findRecord(context, ADDRESS_SCOPES, scopeId).project_id !== caller.projectId
  ) {
    throw networkError(
      400,
      "IllegalSubnetPoolUpdate",
      `Illegal subnetpool update : subnetpool ${id} cannot be updated when associated with shared address scope ${scopeId}.`,
    );
  }
}

/** Checks that the pool fits into its address scope, and its subnets with it. @throws {HttpError} 400, 404, 409 */
function validateScope(context: NetworkContext, pool: SubnetPool): void {
  const { id, address_scope_id: scopeId } = pool;
  if (scopeId === null) {
    return;
  }
  const scope = findRecord(context, ADDRESS_SCOPES, scopeId);
  if (scope.ip_version !== pool.ip_version) {
    throw networkError(
      400,
      "IllegalSubnetPoolIpVersionAssociationToAddressScope",
      `Illegal subnetpool association: subnetpool ${id} cannot associate with address scope ${scopeId} because subnetpool ip_version is not ${scope.ip_version}.`,
    );
  }
  assertNetworksWithinPool(context, pool);
  const own = setOf(prefixesOf(pool));
  const others = context
    .table(SUBNETPOOLS)
    .find(and(where`address_scope_id = ${scopeId} AND id IS NOT ${id}`, visibleTo(context, SUBNETPOOLS)));
  if (others.some((other) => intersect(own, setOf(prefixesOf(other))).length > 0)) {
    throw networkError(
      409,
      "AddressScopePrefixConflict",
      "Failed to associate address scope: subnetpools within an address scope must have unique prefixes.",
    );
  }
}

/** A network whose subnets come from several pools cannot change the scope of one of them. @throws {HttpError} 400 */
function assertNetworksWithinPool(context: NetworkContext, { id, ip_version: version }: SubnetPool): void {
  const networks = new Set(visibleSubnets(context, where`subnetpool_id = ${id}`).map((subnet) => subnet.network_id));
  const foreign = and(
    where`ip_version = ${version} AND subnetpool_id IS NOT ${id}`,
    isOneOf("network_id", [...networks]),
  );
  if (visibleSubnets(context, foreign).length > 0) {
    throw networkError(
      400,
      "NetworkAddressScopeAffinityError",
      "Subnets of the same address family hosted on the same network must all participate in the same address scope.",
    );
  }
}

/** Neutron checks changes of a pool against the subnets that the caller sees: those of other projects do not count. */
function visibleSubnets(context: NetworkContext, condition: Condition): readonly NetworkRecord<typeof SUBNETS>[] {
  return context.table(SUBNETS).find(and(condition, visibleTo(context, SUBNETS)));
}

function visiblePrefixes(context: NetworkContext, poolId: string): IpRangeSet {
  return setOf(cidrsOf(visibleSubnets(context, where`subnetpool_id = ${poolId}`)));
}

function beforeDelete(context: NetworkContext, { id }: SubnetPool): void {
  if (visibleSubnets(context, where`subnetpool_id = ${id}`).length > 0) {
    throw networkError(
      400,
      "SubnetPoolDeleteError",
      "Unable to delete subnet pool: Subnet pool has existing allocations.",
    );
  }
}

function changePool(context: NetworkContext, { id }: SubnetPool, changes: Input): readonly string[] {
  return updateRecord(context, SUBNETPOOLS, id, changes).prefixes;
}

/** @throws {HttpError} 400 */
function readPrefixes({ prefixes }: Readonly<Record<string, unknown>>): readonly IpNetwork[] {
  if (!Array.isArray(prefixes) || prefixes.length === 0) {
    throw badRequest("Request body contains invalid data");
  }
  return prefixes.map((prefix: unknown) => {
    const network = typeof prefix === "string" ? parseNetwork(prefix) : undefined;
    if (network === undefined) {
      throw networkError(400, "AddrFormatError", `invalid IPNetwork ${String(prefix)}`);
    }
    return network;
  });
}

function removePrefixes(context: NetworkContext, pool: SubnetPool, body: Readonly<Record<string, unknown>>): Json {
  const version = pool.ip_version === 6 ? 6 : 4;
  const removed = setOf(readPrefixes(body).filter((network) => network.version === version));
  const current = setOf(prefixesOf(pool));
  if (intersect(current, removed).length === 0) {
    return { prefixes: [...pool.prefixes] };
  }
  if (intersect(visiblePrefixes(context, pool.id), removed).length > 0) {
    throw networkError(
      400,
      "IllegalSubnetPoolPrefixUpdate",
      "Illegal update to prefixes: One or more the prefixes to be removed is in use by a subnet..",
    );
  }
  const prefixes = toPrefixes(subtract(current, removed), version);
  context.table(SUBNETPOOLS).update(pool.id, { prefixes });
  context.touch(SUBNETPOOLS, pool.id);
  return { prefixes: [...prefixes] };
}

/** Moves the subnets of a network into the pool. */
function onboardSubnets(context: NetworkContext, pool: SubnetPool, body: Readonly<Record<string, unknown>>): Json {
  const { network_id: networkId } = body;
  if (typeof networkId !== "string") {
    throw invalidOperation("network_id must be specified.");
  }
  const network = findRecord(context, NETWORKS, networkId);
  const { caller } = context;
  if (!caller.isAdmin && network.project_id !== caller.projectId) {
    throw networkError(403, "NotAuthorized", "Not authorized.");
  }
  const allocated = visiblePrefixes(context, pool.id);
  const subnets = visibleSubnets(context, where`network_id = ${networkId} AND ip_version = ${pool.ip_version}`);
  for (const { id, cidr } of subnets) {
    const range = parseNetwork(cidr ?? "");
    if (range !== undefined && intersect(setOf([range]), allocated).length > 0) {
      throw networkError(
        400,
        "IllegalSubnetPoolUpdate",
        `Illegal subnetpool update : Onboarding subnet ${id}: ${cidr} conflicts with allocated prefixes in subnet pool ${pool.id}.`,
      );
    }
  }
  changePool(context, pool, { prefixes: [...pool.prefixes, ...subnets.flatMap(({ cidr }) => cidr ?? [])] });
  for (const { id } of subnets) {
    context.table(SUBNETS).update(id, { subnetpool_id: pool.id });
    context.touch(SUBNETS, id);
  }
  return subnets.map(({ id, cidr }) => ({ id, cidr }));
}
