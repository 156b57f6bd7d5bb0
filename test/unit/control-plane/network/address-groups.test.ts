import { expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";

async function createGroup(network: NetworkHarness, addresses: readonly string[] = []) {
  return network.get("POST", "/address-groups", { address_group: { name: "web", addresses } });
}

test("an address group has its addresses as CIDRs", async () => {
  const network = new NetworkHarness();
  const group = await createGroup(network, ["10.0.0.5/24", "fd00::/64"]);
  expect(group).toEqual({
    id: group.id,
    name: "web",
    description: "",
    addresses: ["10.0.0.0/24", "fd00::/64"],
    project_id: "demo",
    tenant_id: "demo",
  });
  const changed = { name: "db", description: "databases" };
  expect(await network.get("PUT", `/address-groups/${group.id}`, { address_group: changed })).toMatchObject(changed);
  expect(await network.list("/address-groups?name=db&fields=name")).toEqual([{ name: "db", tenant_id: "demo" }]);
  expect(await network.list("/address-groups", "alt")).toEqual([]);
});

test("addresses are added and removed, with the revision of the group", async () => {
  const network = new NetworkHarness();
  const { id } = await createGroup(network, ["10.0.0.0/24"]);
  const added = await network.get("PUT", `/address-groups/${id}/add_addresses`, {
    addresses: ["10.1.0.9", "10.1.0.9/32"],
  });
  expect(added).toMatchObject({ addresses: ["10.0.0.0/24", "10.1.0.9/32"], revision_number: 1, shared: false });
  const removed = await network.get("PUT", `/address-groups/${id}/remove_addresses`, { addresses: ["10.0.0.0/24"] });
  expect(removed).toMatchObject({ addresses: ["10.1.0.9/32"], revision_number: 2 });
});

test.each([
  [
    "add_addresses",
    { addresses: ["10.0.0.0/24"] },
    "400 AddressesAlreadyExist: Addresses ['10.0.0.0/24'] already exist in the address group ID.",
  ],
  ["add_addresses", { addresses: ["foo"] }, "400 AddrFormatError: invalid IPNetwork foo"],
  ["add_addresses", {}, "400 HTTPBadRequest: The request has a value of an unexpected type."],
  [
    "remove_addresses",
    { addresses: ["10.9.0.0/24"] },
    "404 AddressesNotFound: Addresses ['10.9.0.0/24'] not found in the address group ID.",
  ],
])("%s with %j is rejected", async (action, body, rejection) => {
  const network = new NetworkHarness();
  const { id } = await createGroup(network, ["10.0.0.0/24"]);
  expect(await network.rejection("PUT", `/address-groups/${id}/${action}`, body)).toBe(
    rejection.replace("ID", String(id)),
  );
});

test("an address group that a rule names cannot be deleted", async () => {
  const network = new NetworkHarness();
  const { id } = await createGroup(network, ["10.0.0.0/24"]);
  const group = await network.get("POST", "/security-groups", { security_group: { name: "g" } });
  const rule = { security_group_id: group.id, direction: "ingress", remote_address_group_id: id };
  const { id: ruleId } = await network.get("POST", "/security-group-rules", { security_group_rule: rule });
  expect(await network.rejection("DELETE", `/address-groups/${id}`)).toBe(
    `409 AddressGroupInUse: Address group ${id} is in use on one or more security group rules.`,
  );
  await network.get("DELETE", `/security-group-rules/${ruleId}`);
  await network.get("DELETE", `/address-groups/${id}`);
  expect(await network.list("/address-groups")).toEqual([]);
});

test("shared is read-only", async () => {
  const network = new NetworkHarness();
  const { id } = await createGroup(network);
  const body = { address_group: { shared: true } };
  expect(await network.rejection("PUT", `/address-groups/${id}`, body)).toBe(
    "400 HTTPBadRequest: Cannot update read-only attribute shared",
  );
  expect(await network.rejection("POST", "/address-groups", body)).toBe(
    "400 HTTPBadRequest: Attribute 'shared' not allowed in POST",
  );
});

test("an address group is shared with a project by an RBAC policy", async () => {
  const network = new NetworkHarness();
  const { id } = await createGroup(network);
  const policy = { object_type: "address_group", object_id: id, action: "access_as_shared", target_tenant: "alt" };
  await network.get("POST", "/rbac-policies", { rbac_policy: policy });
  expect(await network.get("GET", `/address-groups/${id}`, undefined, "alt")).toMatchObject({ id });
  const body = { addresses: ["1.2.3.4"] };
  expect(await network.rejection("PUT", `/address-groups/${id}/add_addresses`, body, "alt")).toBe(
    "403 PolicyNotAuthorized: rule:add_addresses is disallowed by policy",
  );
  const change = { address_group: { name: "x" } };
  expect(await network.rejection("PUT", `/address-groups/${id}`, change, "alt")).toBe(
    "404 HTTPNotFound: The resource could not be found.",
  );
});
