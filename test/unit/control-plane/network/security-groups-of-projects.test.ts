import { beforeEach, expect, test } from "vitest";
import { findGroups, groupNames } from "../../../../src/control-plane/network/security-groups/default-group.js";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;

beforeEach(() => {
  network = new NetworkHarness();
});

const create = (attributes: Body) => network.get("POST", "/security-groups", { security_group: attributes });

async function defaultGroup(): Promise<Body> {
  const [group = {}] = await network.list("/security-groups?name=default");
  return group;
}

const rulesOf = (group: Body) => group.security_group_rules as readonly Body[];

function usePort(groupId: unknown): void {
  const { sql } = network.context;
  sql.execute("INSERT INTO network_ports (id) VALUES ('port')");
  sql.execute("INSERT INTO network_port_security_groups VALUES ('port', ?)", String(groupId));
}

test.each(["/security-groups", "/security-group-rules"])(
  "the first GET %s creates the project's default group",
  async (path) => {
    expect(await network.list(path)).not.toEqual([]);
    const [group = {}, ...others] = await network.list("/security-groups");
    expect(others).toEqual([]);
    expect(group).toMatchObject({
      name: "default",
      description: "Default security group",
      project_id: "demo",
      shared: false,
      stateful: true,
      revision_number: 1,
    });
    const rules = rulesOf(group).map(({ direction, ethertype, remote_group_id: remote }) => ({
      direction,
      ethertype,
      remote,
    }));
    expect(rules).toEqual([
      { direction: "egress", ethertype: "IPv4", remote: null },
      { direction: "egress", ethertype: "IPv6", remote: null },
      { direction: "ingress", ethertype: "IPv4", remote: group.id },
      { direction: "ingress", ethertype: "IPv6", remote: group.id },
    ]);
  },
);

test("an administrator's list creates the default group of the project that it names, a member's does not", async () => {
  await network.list("/security-groups?project_id=other");
  expect(await network.list("/security-groups?project_id=other", "admin")).toMatchObject([{ project_id: "other" }]);
  expect(findGroups(network.context, "other", "default")).toHaveLength(1);
});

test("a new group has the two rules for all outgoing packets, which belong to no default group", async () => {
  const group = await create({ name: "web", description: "for the web", stateful: false });
  expect(group).toMatchObject({
    name: "web",
    description: "for the web",
    stateful: false,
    revision_number: 1,
    tags: [],
  });
  expect(rulesOf(group)).toHaveLength(2);
  for (const rule of rulesOf(group)) {
    expect(rule).toMatchObject({ direction: "egress", description: null, tags: [], belongs_to_default_sg: false });
  }
  expect((await network.list("/security-groups")).map(({ name }) => name)).toEqual(["default", "web"]);
});

test.each(["default", "Default"])("no group can be named %s", async (name) => {
  const { id } = await create({ name: "web" });
  const rejection = "409 SecurityGroupDefaultAlreadyExists: Default security group already exists.";
  expect(await network.rejection("POST", "/security-groups", { security_group: { name } })).toBe(rejection);
  expect(await network.rejection("PUT", `/security-groups/${id}`, { security_group: { name } })).toBe(rejection);
});

test("nobody renames a default group, whose description can change", async () => {
  const { id } = await defaultGroup();
  const path = `/security-groups/${id}`;
  for (const caller of ["demo", "admin"] as const) {
    expect(await network.rejection("PUT", path, { security_group: { name: "x" } }, caller)).toBe(
      "409 SecurityGroupCannotUpdateDefault: Updating default security group not allowed.",
    );
  }
  expect(await network.get("PUT", path, { security_group: { description: "x" } })).toMatchObject({ description: "x" });
});

test("only an administrator deletes a default group, which the next list creates again", async () => {
  const { id } = await defaultGroup();
  expect(await network.rejection("DELETE", `/security-groups/${id}`)).toBe(
    "409 SecurityGroupCannotRemoveDefault: Insufficient rights for removing default security group.",
  );
  await network.get("DELETE", `/security-groups/${id}`, undefined, "admin");
  expect(await defaultGroup()).not.toMatchObject({ id });
});

test("a group of a port is not deleted, and does not become stateless", async () => {
  const { id } = await create({ name: "web" });
  usePort(id);
  const rejection = `409 SecurityGroupInUse: Security Group ${id} in use.`;
  expect(await network.rejection("DELETE", `/security-groups/${id}`)).toBe(rejection);
  const path = `/security-groups/${id}`;
  expect(await network.rejection("PUT", path, { security_group: { stateful: false } })).toBe(rejection);
  expect(await network.get("PUT", path, { security_group: { stateful: true } })).toMatchObject({ stateful: true });
});

test("a port has either stateful or stateless groups", async () => {
  const createGroup = async (stateful: boolean) =>
    (await network.get("POST", "/security-groups", { security_group: { name: "g", stateful } })).id;
  const [stateful, stateless] = [await createGroup(true), await createGroup(false)];
  const { id: networkId } = await network.get("POST", "/networks", { network: {} });
  const conflict =
    "409 SecurityGroupConflict: Error Cannot apply both stateful and stateless security groups on the same port at the " +
    "same time while attempting the operation.";
  const both = { security_groups: [stateful, stateless] };
  expect(await network.rejection("POST", "/ports", { port: { network_id: networkId, ...both } })).toBe(conflict);
  const port = { network_id: networkId, security_groups: [stateful] };
  const { id } = await network.get("POST", "/ports", { port });
  expect(await network.rejection("PUT", `/ports/${id}`, { port: both })).toBe(conflict);
  await network.get("PUT", `/ports/${id}`, { port: { security_groups: [stateless] } });
});

test("a deleted group takes its rules with it, and the rules of other groups that name it", async () => {
  const [web, database] = [await create({ name: "web" }), await create({ name: "database" })];
  const rule = { security_group_id: database.id, direction: "ingress", remote_group_id: web.id };
  await network.get("POST", "/security-group-rules", { security_group_rule: rule });
  await network.get("DELETE", `/security-groups/${web.id}`);
  const groups = (await network.list("/security-group-rules")).map(({ security_group_id: group }) => group);
  expect(groups).not.toContain(web.id);
  expect(groups.filter((id) => id === database.id)).toHaveLength(2);
});

test("the rules of a new group count for the quota of rules", async () => {
  network = new NetworkHarness({ quotas: { security_group_rule: 5 } });
  expect(await network.rejection("POST", "/security-groups", { security_group: { name: "web" } })).toBe(
    "409 OverQuota: Quota exceeded for resources: ['security_group_rule'].",
  );
  expect(await network.list("/security-group-rules")).toHaveLength(4);
});

test("a project reads and uses a group that is shared with it, but does not change it", async () => {
  const { id } = await create({ name: "web" });
  const policy = { object_type: "security_group", object_id: id, action: "access_as_shared", target_tenant: "alt" };
  expect(await network.rejection("GET", `/security-groups/${id}`, undefined, "alt")).toBe(
    `404 SecurityGroupNotFound: Security group ${id} does not exist`,
  );
  await network.get("POST", "/rbac-policies", { rbac_policy: policy });
  expect(await network.get("GET", `/security-groups/${id}`, undefined, "alt")).toMatchObject({ shared: true });
  expect(await network.list("/security-groups?shared=true", "alt")).toMatchObject([{ id }]);
  expect(await network.rejection("PUT", `/security-groups/${id}`, { security_group: { name: "x" } }, "alt")).toContain(
    "403",
  );
  expect(findGroups(network.context, "alt", "web").map((group) => group.id)).toEqual([id]);
  expect(groupNames(network.context, [String(id), "unknown"])).toEqual(new Map([[id, "web"]]));
});

test("lists of groups filter by name and tags, and reject unknown filters", async () => {
  const { id } = await create({ name: "web" });
  await network.get("PUT", `/security-groups/${id}/tags`, { tags: ["blue"] });
  expect(await network.list("/security-groups?tags=blue")).toMatchObject([{ id, tags: ["blue"] }]);
  expect(await network.list("/security-groups?name=web&fields=id")).toEqual([{ id }]);
  for (const name of ["stateful", "security_group_rules", "default_of"]) {
    expect(await network.rejection("GET", `/security-groups?${name}=1`)).toContain("400 HTTPBadRequest");
  }
});

test.each([
  ["shared", "Attribute 'shared' not allowed in POST"],
  ["security_group_rules", "Attribute 'security_group_rules' not allowed in POST"],
  ["default_of", "Unrecognized attribute(s) 'default_of'"],
])("a create with %s is rejected", async (name, message) => {
  const body = { security_group: { [name]: "x" } };
  expect(await network.rejection("POST", "/security-groups", body)).toBe(`400 HTTPBadRequest: ${message}`);
});
