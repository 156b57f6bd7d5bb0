import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;

beforeEach(() => {
  network = new NetworkHarness();
});

async function createNetwork(caller: Caller = "demo"): Promise<string> {
  return String((await network.get("POST", "/networks", { network: { name: "net" } }, caller)).id);
}

function createPool(attributes: Body, caller: Caller = "demo"): Promise<Body> {
  return network.get("POST", "/subnetpools", { subnetpool: { name: "pool", ...attributes } }, caller);
}

function rejectPool(attributes: Body, caller: Caller = "demo"): Promise<string> {
  return network.rejection("POST", "/subnetpools", { subnetpool: { name: "pool", ...attributes } }, caller);
}

function changePool(pool: Body, changes: Body): Promise<Body> {
  return network.get("PUT", `/subnetpools/${pool.id}`, { subnetpool: changes });
}

function rejectChange(pool: Body, changes: Body, caller: Caller = "demo"): Promise<string> {
  return network.rejection("PUT", `/subnetpools/${pool.id}`, { subnetpool: changes }, caller);
}

/** Returns the new prefixes. */
async function runAction(pool: Body, action: string, body: Body): Promise<unknown> {
  return (await network.send("PUT", `/subnetpools/${pool.id}/${action}`, body)).json("prefixes");
}

function rejectAction(pool: Body, action: string, body: Body, caller: Caller = "demo"): Promise<string> {
  return network.rejection("PUT", `/subnetpools/${pool.id}/${action}`, body, caller);
}

function subnetOf(pool: Body, attributes: Body = {}, networkId?: string): Promise<Body> {
  const create = async (): Promise<Body> => {
    const id = networkId ?? (await createNetwork());
    const subnet = { network_id: id, ip_version: 4, subnetpool_id: pool.id, ...attributes };
    return network.get("POST", "/subnets", { subnet });
  };
  return create();
}

async function rejectSubnetOf(pool: Body, attributes: Body = {}): Promise<string> {
  const subnet = { network_id: await createNetwork(), ip_version: 4, subnetpool_id: pool.id, ...attributes };
  return network.rejection("POST", "/subnets", { subnet });
}

function createScope(attributes: Body = {}, caller: Caller = "demo"): Promise<Body> {
  return network.get(
    "POST",
    "/address-scopes",
    { address_scope: { name: "scope", ip_version: 4, ...attributes } },
    caller,
  );
}

test("a pool has its prefixes compacted and the lengths of its IP version", async () => {
  const pool = await createPool({ prefixes: ["10.0.1.0/24", "10.0.0.0/24", "10.1.0.0/16"] });
  expect(pool).toMatchObject({
    prefixes: ["10.0.0.0/23", "10.1.0.0/16"],
    ip_version: 4,
    default_prefixlen: "8",
    min_prefixlen: "8",
    max_prefixlen: "32",
    default_quota: null,
    address_scope_id: null,
    is_default: false,
    shared: false,
    revision_number: 0,
  });
  expect(await createPool({ prefixes: ["fd00::/56"] })).toMatchObject({
    default_prefixlen: "64",
    max_prefixlen: "128",
  });
});

describe("a pool is rejected", () => {
  const prefixes = ["10.0.0.0/8"];
  test.each([
    [{ prefixes: [] }, "400 EmptySubnetPoolPrefixList: Empty subnet pool prefix list."],
    [
      { prefixes: ["10.0.0.0/8", "fd00::/8"] },
      "400 PrefixVersionMismatch: Cannot mix IPv4 and IPv6 prefixes in a subnet pool.",
    ],
    [
      { prefixes, min_prefixlen: 25, max_prefixlen: 24 },
      "400 IllegalSubnetPoolPrefixBounds: Illegal prefix bounds: min_prefixlen=25, max_prefixlen=24.",
    ],
    [
      { prefixes, max_prefixlen: 33 },
      "400 IllegalSubnetPoolPrefixBounds: Illegal prefix bounds: max_prefixlen=33, ip_version_max=32.",
    ],
    [
      { prefixes, default_prefixlen: 7 },
      "400 IllegalSubnetPoolPrefixBounds: Illegal prefix bounds: default_prefixlen=7, min_prefixlen=8.",
    ],
    [
      { prefixes, default_prefixlen: 30, max_prefixlen: 28 },
      "400 IllegalSubnetPoolPrefixBounds: Illegal prefix bounds: default_prefixlen=30, max_prefixlen=28.",
    ],
    [
      { prefixes, is_default: true },
      "403 PolicyNotAuthorized: (rule:create_subnetpool and rule:create_subnetpool:is_default) is disallowed by policy",
    ],
    [
      { prefixes, address_scope_id: "00000000-0000-4000-8000-000000000000" },
      "404 AddressScopeNotFound: Address scope 00000000-0000-4000-8000-000000000000 could not be found.",
    ],
  ])("with %o", async (attributes, error) => {
    expect(await rejectPool(attributes)).toBe(error);
  });
});

test("subnets take the first free prefix of a pool", async () => {
  const pool = await createPool({ prefixes: ["10.50.0.0/24"], default_prefixlen: 26 });
  const first = await subnetOf(pool, { gateway_ip: null });
  expect(first).toMatchObject({
    cidr: "10.50.0.0/26",
    gateway_ip: "10.50.0.1",
    allocation_pools: [{ start: "10.50.0.2", end: "10.50.0.62" }],
    subnetpool_id: pool.id,
  });
  const second = await subnetOf(pool, { gateway_ip: "10.50.0.77" });
  expect(second).toMatchObject({ cidr: "10.50.0.64/26", gateway_ip: "10.50.0.77" });
  await network.get("DELETE", `/subnets/${first.id}`);
  expect(await subnetOf(pool, { prefixlen: 28 })).toMatchObject({ cidr: "10.50.0.0/28" });
  expect(await subnetOf(pool, { cidr: "10.50.0.128/25" })).toMatchObject({ gateway_ip: "10.50.0.129" });
});

test("a subnet that the pool cannot give is rejected", async () => {
  const pool = await createPool({
    prefixes: ["10.50.0.0/24"],
    default_prefixlen: 26,
    min_prefixlen: 20,
    max_prefixlen: 28,
  });
  await subnetOf(pool);
  expect(await rejectSubnetOf(pool, { prefixlen: 30 })).toBe(
    "400 MaxPrefixSubnetAllocationError: Unable to allocate subnet with prefix length 30, maximum allowed prefix is 28.",
  );
  expect(await rejectSubnetOf(pool, { prefixlen: 8 })).toBe(
    "400 MinPrefixSubnetAllocationError: Unable to allocate subnet with prefix length 8, minimum allowed prefix is 20.",
  );
  expect(await rejectSubnetOf(pool, { prefixlen: 24 })).toBe(
    "500 SubnetAllocationError: Failed to allocate subnet: Insufficient prefix space to allocate subnet size /24.",
  );
  expect(await rejectSubnetOf(pool, { cidr: "10.50.0.0/27" })).toBe(
    "500 SubnetAllocationError: Failed to allocate subnet: Cannot allocate requested subnet from the available set of prefixes.",
  );
  expect(await rejectSubnetOf(pool, { ip_version: 6 })).toBe(
    "400 BadRequest: Bad subnets request: Cannot allocate IPv6 subnet from IPv4 subnet pool.",
  );
  expect(await rejectSubnetOf(pool, { allocation_pools: [{ start: "10.50.0.70", end: "10.50.0.71" }] })).toBe(
    "400 BadRequest: Bad subnets request: allocation_pools allowed only for specific subnet requests..",
  );
});

test("subnets of a network come from one pool", async () => {
  const pool = await createPool({ prefixes: ["10.50.0.0/24"], default_prefixlen: 26 });
  const networkId = await createNetwork();
  await subnetOf(pool, {}, networkId);
  await subnetOf(pool, {}, networkId);
  const foreign = { network_id: networkId, ip_version: 4, cidr: "10.60.0.0/24" };
  expect(await network.rejection("POST", "/subnets", { subnet: foreign })).toBe(
    "400 NetworkSubnetPoolAffinityError: Subnets hosted on the same network must be allocated from the same subnet pool.",
  );
  await network.get("POST", "/subnets", { subnet: { ...foreign, ip_version: 6, cidr: "fd00::/64" } });
});

test("the quota of a pool counts addresses", async () => {
  const pool = await createPool({ prefixes: ["10.82.0.0/16"], default_quota: 100, default_prefixlen: 26 });
  await subnetOf(pool);
  expect(await rejectSubnetOf(pool)).toBe("409 SubnetPoolQuotaExceeded: Per-tenant subnet pool prefix quota exceeded.");
  await subnetOf(pool, { prefixlen: 27 });
});

test("each IP version has one default pool", async () => {
  const pool = { prefixes: ["10.0.0.0/8"], default_prefixlen: 26, is_default: true, shared: true };
  await createPool(pool, "admin");
  expect(await rejectPool({ prefixes: ["11.0.0.0/8"], is_default: true }, "admin")).toBe(
    "400 InvalidInput: Invalid input for operation: A default subnetpool for this IP family has already been set. Only one default may exist per IP family.",
  );
  const request = { network_id: await createNetwork(), ip_version: 4, use_default_subnetpool: true };
  expect(await network.get("POST", "/subnets", { subnet: request })).toMatchObject({ cidr: "10.0.0.0/26" });
  expect(await network.rejection("POST", "/subnets", { subnet: { ...request, ip_version: 6 } })).toBe(
    "400 BadRequest: Bad subnets request: No default subnetpool found for IPv6.",
  );
});

test("prefixes are added and removed", async () => {
  const pool = await createPool({ prefixes: ["10.30.0.0/16"], default_prefixlen: 24 });
  expect(await runAction(pool, "add_prefixes", { prefixes: ["10.31.0.0/16"] })).toEqual(["10.30.0.0/15"]);
  expect(await runAction(pool, "remove_prefixes", { prefixes: ["10.99.0.0/16"] })).toEqual(["10.30.0.0/15"]);
  expect(await runAction(pool, "remove_prefixes", { prefixes: ["10.30.0.0/17"] })).toEqual([
    "10.30.128.0/17",
    "10.31.0.0/16",
  ]);
  await subnetOf(pool, { prefixlen: 24 });
  expect(await rejectAction(pool, "remove_prefixes", { prefixes: ["10.30.128.0/17"] })).toBe(
    "400 IllegalSubnetPoolPrefixUpdate: Illegal update to prefixes: One or more the prefixes to be removed is in use by a subnet..",
  );
  expect(await rejectAction(pool, "add_prefixes", { prefixes: ["fd00::/64"] })).toContain("400 PrefixVersionMismatch");
  expect(await rejectAction(pool, "add_prefixes", { prefixes: ["x"] })).toBe(
    "400 AddrFormatError: invalid IPNetwork x",
  );
  expect(await rejectAction(pool, "add_prefixes", {})).toBe("400 HTTPBadRequest: Request body contains invalid data");
  expect(await rejectChange(pool, { prefixes: ["10.31.0.0/16"] })).toBe(
    "400 IllegalSubnetPoolPrefixUpdate: Illegal update to prefixes: Existing prefixes must be a subset of the new prefixes.",
  );
});

test("subnets of a network move into a pool", async () => {
  const pool = await createPool({ prefixes: ["10.30.0.0/16"] });
  const networkId = await createNetwork();
  const subnet = await network.get("POST", "/subnets", {
    subnet: { network_id: networkId, ip_version: 4, cidr: "192.168.77.0/24" },
  });
  const onboard = { network_id: networkId };
  const reply = await network.send("PUT", `/subnetpools/${pool.id}/onboard_network_subnets`, onboard);
  expect(reply.json()).toEqual([{ id: subnet.id, cidr: "192.168.77.0/24" }]);
  expect(await network.get("GET", `/subnets/${subnet.id}`)).toMatchObject({ subnetpool_id: pool.id });
  expect((await network.get("GET", `/subnetpools/${pool.id}`)).prefixes).toEqual(["10.30.0.0/16", "192.168.77.0/24"]);
  expect(await rejectAction(pool, "onboard_network_subnets", onboard)).toBe(
    `400 IllegalSubnetPoolUpdate: Illegal subnetpool update : Onboarding subnet ${subnet.id}: 192.168.77.0/24 conflicts with allocated prefixes in subnet pool ${pool.id}.`,
  );
  expect(await rejectAction(pool, "onboard_network_subnets", {})).toBe(
    "400 InvalidInput: Invalid input for operation: network_id must be specified..",
  );
});

describe("subnets of other projects", () => {
  async function createForeignSubnet(pool: Body): Promise<Body> {
    const policy = { object_type: "subnetpool", object_id: pool.id, action: "access_as_shared", target_tenant: "alt" };
    await network.get("POST", "/rbac-policies", { rbac_policy: policy }, "admin");
    const subnet = { network_id: await createNetwork("alt"), ip_version: 4, subnetpool_id: pool.id };
    return network.get("POST", "/subnets", { subnet }, "alt");
  }

  test("do not prevent that the pool's project removes their prefixes", async () => {
    const pool = await createPool({ prefixes: ["10.30.0.0/16"], default_prefixlen: 24 });
    const subnet = await createForeignSubnet(pool);
    const all = { prefixes: ["10.30.0.0/16"] };
    expect(await rejectAction(pool, "remove_prefixes", all, "admin")).toContain("400 IllegalSubnetPoolPrefixUpdate");
    expect(await runAction(pool, "remove_prefixes", all)).toEqual([]);
    expect(await network.get("GET", `/subnets/${subnet.id}`, undefined, "alt")).toMatchObject({ cidr: "10.30.0.0/24" });
  });

  test("do not prevent that the pool's project deletes the pool", async () => {
    const pool = await createPool({ prefixes: ["10.30.0.0/16"], default_prefixlen: 24 });
    const { id, network_id } = await createForeignSubnet(pool);
    expect(await network.rejection("DELETE", `/subnetpools/${pool.id}`, undefined, "admin")).toContain(
      "400 SubnetPoolDeleteError",
    );
    await network.get("DELETE", `/subnetpools/${pool.id}`);
    const change = { subnet: { name: "x" } };
    expect(await network.get("PUT", `/subnets/${id}`, change, "alt")).toMatchObject({ subnetpool_id: pool.id });
    expect(await network.get("GET", `/networks/${network_id}`, undefined, "alt")).toMatchObject({
      ipv4_address_scope: null,
    });
  });
});

test("a pool with subnets cannot be deleted", async () => {
  const pool = await createPool({ prefixes: ["10.30.0.0/16"], default_prefixlen: 24 });
  const subnet = await subnetOf(pool);
  expect(await network.rejection("DELETE", `/subnetpools/${pool.id}`)).toBe(
    "400 SubnetPoolDeleteError: Unable to delete subnet pool: Subnet pool has existing allocations.",
  );
  await network.get("DELETE", `/subnets/${subnet.id}`);
  await network.get("DELETE", `/subnetpools/${pool.id}`);
});

test("pools of an address scope do not overlap", async () => {
  const scope = await createScope();
  const pool = await createPool({ prefixes: ["10.30.0.0/16"], address_scope_id: scope.id });
  const conflict =
    "409 AddressScopePrefixConflict: Failed to associate address scope: subnetpools within an address scope must have unique prefixes.";
  expect(await rejectPool({ prefixes: ["10.30.4.0/24"], address_scope_id: scope.id })).toBe(conflict);
  const other = await createPool({ prefixes: ["10.30.4.0/24"] });
  expect(await rejectChange(other, { address_scope_id: scope.id })).toBe(conflict);
  expect(await rejectPool({ prefixes: ["fd00::/8"], address_scope_id: scope.id })).toMatch(
    /^400 IllegalSubnetPoolIpVersionAssociationToAddressScope: .* because subnetpool ip_version is not 4\.$/,
  );
  expect(await network.rejection("DELETE", `/address-scopes/${scope.id}`)).toBe(
    `409 AddressScopeInUse: Unable to complete operation on address scope ${scope.id}. There are one or more subnet pools in use on the address scope.`,
  );
  expect(await changePool(pool, { address_scope_id: null })).toMatchObject({ address_scope_id: null });
  await network.get("DELETE", `/address-scopes/${scope.id}`);
});

test("subnets of a network come from pools of one address scope", async () => {
  const scope = await createScope();
  const first = await createPool({ prefixes: ["10.1.0.0/16"], default_prefixlen: 24, address_scope_id: scope.id });
  const second = await createPool({ prefixes: ["10.2.0.0/16"], default_prefixlen: 24, address_scope_id: scope.id });
  const outside = await createPool({ prefixes: ["10.3.0.0/16"], default_prefixlen: 24 });
  const networkId = await createNetwork();
  await subnetOf(first, {}, networkId);
  await subnetOf(second, {}, networkId);
  const subnet = { network_id: networkId, ip_version: 4, subnetpool_id: outside.id };
  const affinity =
    "400 NetworkAddressScopeAffinityError: Subnets of the same address family hosted on the same network must all participate in the same address scope.";
  expect(await network.rejection("POST", "/subnets", { subnet })).toBe(affinity);
  const other = await createScope();
  expect(await rejectChange(first, { address_scope_id: other.id })).toBe(affinity);
});

test("a pool in another project's shared scope cannot change", async () => {
  const scope = await createScope({ shared: true }, "admin");
  const pool = await createPool({ prefixes: ["10.80.0.0/16"], address_scope_id: scope.id });
  expect(await rejectChange(pool, { name: "x" })).toBe(
    `400 IllegalSubnetPoolUpdate: Illegal subnetpool update : subnetpool ${pool.id} cannot be updated when associated with shared address scope ${scope.id}.`,
  );
  const unshare = { address_scope: { shared: false } };
  expect(await network.rejection("PUT", `/address-scopes/${scope.id}`, unshare, "admin")).toBe(
    `400 AddressScopeUpdateError: Unable to update address scope ${scope.id} : Shared address scope can't be unshared.`,
  );
});

test("pools cannot be sorted by an attribute of their policies", async () => {
  expect(await network.rejection("GET", "/subnetpools?sort_key=shared&sort_dir=asc")).toBe(
    "400 BadRequest: Bad subnetpools request: 'shared' is an invalid attribute for sort key.",
  );
});
