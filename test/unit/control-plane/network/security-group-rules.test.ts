import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;
let groupId: string;

beforeEach(async () => {
  network = new NetworkHarness();
  groupId = await createGroup("web");
});

async function createGroup(name: string, caller: "demo" | "alt" = "demo"): Promise<string> {
  const { id } = await network.get("POST", "/security-groups", { security_group: { name } }, caller);
  return String(id);
}

const bodyOf = (attributes: Body) => ({
  security_group_rule: { security_group_id: groupId, direction: "ingress", ...attributes },
});

const create = (attributes: Body) => network.get("POST", "/security-group-rules", bodyOf(attributes));

const rejectionOf = (attributes: Body) => network.rejection("POST", "/security-group-rules", bodyOf(attributes));

describe("a rule", () => {
  test.each<[name: string, request: Body, rule: Body]>([
    [
      "has defaults",
      {},
      { ethertype: "IPv4", protocol: null, remote_ip_prefix: null, description: "", revision_number: 0 },
    ],
    ["takes a protocol in upper case", { protocol: "TCP" }, { protocol: "tcp" }],
    ["takes a protocol by number", { protocol: 6 }, { protocol: "6" }],
    ["takes an ethertype in lower case", { ethertype: "ipv6" }, { ethertype: "IPv6" }],
    [
      "converts ports to numbers",
      { protocol: "udp", port_range_min: "22", port_range_max: "23" },
      { port_range_min: 22, port_range_max: 23 },
    ],
    [
      "has no range instead of all ports",
      { port_range_min: 1, port_range_max: 65535 },
      { port_range_min: null, port_range_max: null },
    ],
    [
      "has an ICMP type and code",
      { protocol: "icmp", port_range_min: 0, port_range_max: 0 },
      { port_range_min: 0, port_range_max: 0 },
    ],
    [
      "may have an ICMP type alone",
      { protocol: "icmp", port_range_min: 8 },
      { port_range_min: 8, port_range_max: null },
    ],
    ["names ICMPv6 canonically", { protocol: "icmp", ethertype: "IPv6" }, { protocol: "ipv6-icmp" }],
    ["numbers ICMPv6 canonically", { protocol: "1", ethertype: "IPv6" }, { protocol: "58" }],
    [
      "keeps the host bits of its prefix",
      { remote_ip_prefix: "10.1.2.3/8" },
      { remote_ip_prefix: "10.1.2.3/8", normalized_cidr: "10.0.0.0/8" },
    ],
    [
      "adds the length of an address",
      { remote_ip_prefix: "1.2.3.4" },
      { remote_ip_prefix: "1.2.3.4/32", normalized_cidr: "1.2.3.4/32" },
    ],
    [
      "normalizes IPv6 prefixes",
      { ethertype: "IPv6", remote_ip_prefix: "fd00::1/64" },
      { normalized_cidr: "fd00::/64" },
    ],
    ["takes an empty prefix for none", { remote_ip_prefix: "" }, { remote_ip_prefix: null, normalized_cidr: null }],
  ])("%s", async (_name, request, rule) => {
    const created = await create(request);
    expect(created).toMatchObject({
      security_group_id: groupId,
      direction: "ingress",
      belongs_to_default_sg: false,
      ...rule,
    });
    expect(created).not.toHaveProperty("tags");
    expect(await network.get("GET", `/security-group-rules/${created.id}`)).toEqual(created);
  });

  test.each<[request: Body, rejection: string]>([
    [{ protocol: "bogus" }, "400 SecurityGroupRuleInvalidProtocol: Security group rule protocol bogus not supported."],
    [{ protocol: 256 }, "400 SecurityGroupRuleInvalidProtocol: Security group rule protocol 256 not supported."],
    [
      { ethertype: "IPv5" },
      "400 SecurityGroupRuleInvalidEtherType: Security group rule for ethertype 'IPv5' not supported.",
    ],
    [{ direction: "out" }, "400 HTTPBadRequest: Invalid input for direction. Reason: out is not in valid_values."],
    [{ port_range_min: 70000 }, "400 SecurityGroupInvalidPortValue: Invalid value for port 70000"],
    [
      { protocol: "tcp", port_range_min: 0, port_range_max: 2 },
      "400 SecurityGroupInvalidPortValue: Invalid value for port 0",
    ],
    [
      { protocol: "tcp", port_range_min: 22 },
      "400 SecurityGroupInvalidPortRange: For TCP/UDP protocols, port_range_min must be <= port_range_max",
    ],
    [{ protocol: "tcp", port_range_min: 30, port_range_max: 22 }, "400 SecurityGroupInvalidPortRange: "],
    [
      { port_range_min: 1, port_range_max: 2 },
      "400 SecurityGroupProtocolRequiredWithPorts: Must also specify protocol if port range is given.",
    ],
    [
      { protocol: "ah", port_range_min: 1, port_range_max: 2 },
      "400 SecurityGroupInvalidProtocolForPort: Ports cannot be specified for protocol 51. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE.",
    ],
    [
      { protocol: "icmp", port_range_min: 256 },
      "400 SecurityGroupInvalidIcmpValue: Invalid value for ICMP type (port_range_min) 256. It must be 0 to 255.",
    ],
    [
      { protocol: "icmp", port_range_max: 3 },
      "400 SecurityGroupMissingIcmpType: ICMP code (port-range-max) 3 is provided but ICMP type (port-range-min) is missing.",
    ],
    [
      { protocol: "icmpv6" },
      "400 SecurityGroupEthertypeConflictWithProtocol: Invalid ethertype IPv4 for protocol icmpv6.",
    ],
    [{ remote_ip_prefix: "bad" }, "400 InvalidCIDR: Invalid CIDR bad given as IP prefix."],
    [
      { remote_ip_prefix: "::/0" },
      "400 SecurityGroupRuleParameterConflict: Conflicting value ethertype IPv4 for CIDR ::/0",
    ],
    [
      { remote_ip_prefix: "10.0.0.0/8", remote_group_id: "x" },
      "400 SecurityGroupMultipleRemoteEntites: Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.",
    ],
    [{ remote_group_id: "unknown" }, "404 SecurityGroupNotFound: Security group unknown does not exist"],
    [{ remote_address_group_id: "unknown" }, "404 AddressGroupNotFound: Address group unknown could not be found."],
    [{ security_group_id: "unknown" }, "404 SecurityGroupNotFound: Security group unknown does not exist"],
    [{ normalized_cidr: "10.0.0.0/8" }, "400 HTTPBadRequest: Attribute 'normalized_cidr' not allowed in POST"],
  ])("with %o is rejected", async (request, rejection) => {
    expect(await rejectionOf(request)).toContain(rejection);
  });
});

test.each<[first: Body, equal: Body]>([
  [{ protocol: "tcp" }, { protocol: 6, port_range_min: 1, port_range_max: 65535 }],
  [
    { protocol: "icmpv6", ethertype: "IPv6" },
    { protocol: "58", ethertype: "IPv6" },
  ],
  [{}, { remote_ip_prefix: "0.0.0.0/0" }],
  [{ remote_ip_prefix: "10.1.1.1" }, { remote_ip_prefix: "10.1.1.1/32", description: "again" }],
])("a rule %o makes %o a duplicate", async (first, equal) => {
  const { id } = await create(first);
  expect(await rejectionOf(equal)).toBe(
    `409 SecurityGroupRuleExists: Security group rule already exists. Rule id is ${id}.`,
  );
  const other = await createGroup("other");
  await create({ ...equal, security_group_id: other });
});

test("two names of one protocol number are two rules", async () => {
  await create({ protocol: "ip" });
  await create({ protocol: "hopopt" });
  expect(await rejectionOf({ protocol: "0" })).toContain("409 SecurityGroupRuleExists");
});

test("adding and deleting a rule raise the revision of its group", async () => {
  const revision = async () => Number((await network.get("GET", `/security-groups/${groupId}`)).revision_number);
  const before = await revision();
  const { id } = await create({});
  const afterCreate = await revision();
  expect(afterCreate).toBeGreaterThan(before);
  await network.get("DELETE", `/security-group-rules/${id}`);
  expect(await revision()).toBeGreaterThan(afterCreate);
});

test("a member adds rules only to groups of its project, which are the only ones whose rules it sees", async () => {
  const foreign = await createGroup("foreign", "alt");
  expect(await rejectionOf({ security_group_id: foreign })).toBe(
    "403 PolicyNotAuthorized: rule:create_security_group_rule is disallowed by policy",
  );
  expect(await rejectionOf({ remote_group_id: foreign })).toContain("404 SecurityGroupNotFound");
  const [rule] = await network.list(`/security-group-rules?security_group_id=${foreign}`, "alt");
  expect(await network.list(`/security-group-rules?security_group_id=${foreign}`)).toEqual([]);
  for (const method of ["GET", "DELETE"]) {
    expect(await network.rejection(method, `/security-group-rules/${rule?.id}`)).toBe(
      "404 HTTPNotFound: The resource could not be found.",
    );
    expect(await network.rejection(method, "/security-group-rules/unknown")).toBe(
      "404 SecurityGroupRuleNotFound: Security group rule unknown does not exist",
    );
  }
  await network.get("POST", "/security-group-rules", bodyOf({ security_group_id: foreign }), "admin");
  expect(await network.list(`/security-group-rules?security_group_id=${foreign}`, "alt")).toHaveLength(3);
});

test("an administrator's rule in a member's group is deleted by administrators only", async () => {
  const group = await createGroup("web", "demo");
  const { id } = await network.get("POST", "/security-group-rules", bodyOf({ security_group_id: group }), "admin");
  const url = `/security-group-rules/${id}`;
  expect((await network.send("GET", url)).status).toBe(200);
  expect(await network.rejection("DELETE", url)).toContain("404 SecurityGroupRuleNotFound");
  expect((await network.send("DELETE", url, undefined, "admin")).status).toBe(204);
});

test("a reader adds no rule", async () => {
  expect(await network.rejection("POST", "/security-group-rules", bodyOf({}), "reader")).toContain("403");
});

describe("a request for several rules", () => {
  const createAll = (...rules: readonly Body[]) =>
    network.send("POST", "/security-group-rules", {
      security_group_rules: rules.map(
        (rule) => bodyOf({ direction: "egress", protocol: "tcp", ...rule }).security_group_rule,
      ),
    });

  test("creates all of them", async () => {
    const reply = await createAll({ port_range_min: 1, port_range_max: 2 }, { port_range_min: 1, port_range_max: 3 });
    expect(reply.json("security_group_rules")).toMatchObject([{ port_range_max: 2 }, { port_range_max: 3 }]);
  });

  test("creates none if two are equal or one exists", async () => {
    expect((await createAll({}, { protocol: 6 })).json("NeutronError")).toMatchObject({
      type: "DuplicateSecurityGroupRuleInPost",
      message: "Duplicate Security Group Rule in POST.",
    });
    await createAll({ protocol: "udp" });
    const reply = await createAll({}, { protocol: "udp" });
    expect(reply.json("NeutronError", "type")).toBe("SecurityGroupRuleExists");
    expect(await network.list(`/security-group-rules?security_group_id=${groupId}`)).toHaveLength(3);
  });

  test("names one group", async () => {
    const reply = await createAll({}, { security_group_id: await createGroup("other") });
    expect(reply.json("NeutronError")).toMatchObject({
      type: "SecurityGroupNotSingleGroupRules",
      message: "Only allowed to update rules for one security profile at a time",
    });
  });
});

test.each<[query: string, count: number]>([
  ["protocol=tcp&port_range_min=5", 1],
  ["remote_ip_prefix=10.1.0.0/8", 1],
  ["normalized_cidr=10.0.0.0/8", 1],
  ["ethertype=IPv6&direction=egress", 2],
  ["description=d", 1],
  ["belongs_to_default_sg=true", 4],
  ["project_id=demo&direction=ingress", 4],
])("lists of rules filter by %s", async (query, count) => {
  await create({ protocol: "tcp", port_range_min: 5, port_range_max: 6, description: "d" });
  await create({ remote_ip_prefix: "10.1.0.0/8" });
  expect(await network.list(`/security-group-rules?${query}`)).toHaveLength(count);
});

test("the quota limits the rules of a project", async () => {
  network = new NetworkHarness({ quotas: { security_group_rule: 7 } });
  groupId = await createGroup("web");
  await create({});
  expect(await rejectionOf({ protocol: "tcp" })).toBe(
    "409 OverQuota: Quota exceeded for resources: ['security_group_rule'].",
  );
});

describe("the rules for new groups", () => {
  const path = "/default-security-group-rules";
  const add = (attributes: Body) =>
    network.get("POST", path, { default_security_group_rule: { direction: "ingress", ...attributes } }, "admin");

  test("are Neutron's four until an administrator changes them", async () => {
    expect(await network.list(path)).toMatchObject([
      { direction: "egress", ethertype: "IPv4", used_in_default_sg: true, used_in_non_default_sg: true },
      { direction: "egress", ethertype: "IPv6", remote_group_id: null },
      { direction: "ingress", ethertype: "IPv4", remote_group_id: "PARENT", used_in_non_default_sg: false },
      { direction: "ingress", ethertype: "IPv6", remote_group_id: "PARENT" },
    ]);
    expect(await network.rejection("DELETE", `${path}/${(await network.list(path))[0]?.id}`)).toContain("403");
  });

  test("apply to groups that are created later", async () => {
    await add({ protocol: "tcp", port_range_min: 22, port_range_max: 22, used_in_default_sg: true });
    await add({ remote_group_id: "PARENT", used_in_non_default_sg: true });
    const created = await createGroup("later");
    const ingress = await network.list(`/security-group-rules?security_group_id=${created}&direction=ingress`);
    expect(ingress).toMatchObject([{ port_range_min: 22 }, { remote_group_id: created }]);
    expect(await network.list(`/security-group-rules?security_group_id=${groupId}`)).toHaveLength(2);
  });

  test("do not come back when an administrator deletes them", async () => {
    for (const { id } of await network.list(path)) {
      await network.get("DELETE", `${path}/${id}`, undefined, "admin");
    }
    expect(await network.list(path)).toEqual([]);
    expect(await network.list(`/security-group-rules?security_group_id=${await createGroup("bare")}`)).toEqual([]);
  });

  test("are checked as other rules", async () => {
    const { id } = await add({ protocol: "tcp" });
    const rejection = (attributes: Body) =>
      network.rejection(
        "POST",
        path,
        { default_security_group_rule: { direction: "ingress", ...attributes } },
        "admin",
      );
    expect(await rejection({ protocol: "tcp" })).toBe(
      `409 DefaultSecurityGroupRuleExists: Default Security group rule already exists. Rule id is ${id}.`,
    );
    expect(await rejection({ port_range_min: 5 })).toContain("400 SecurityGroupProtocolRequiredWithPorts");
    expect(await rejection({ remote_group_id: "unknown" })).toContain("404 SecurityGroupNotFound");
  });
});
