import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkWorld } from "./network-world.js";

let world: NetworkWorld;

beforeEach(() => {
  world = new NetworkWorld();
});

async function rule(groupId: string, more: Body = {}) {
  const body = { security_group_id: groupId, direction: "ingress", ...more };
  return world.ask("POST", "/security-group-rules", { security_group_rule: body });
}

describe("the default group", () => {
  test("is created by a project's first request, with Neutron's rules", async () => {
    const [group] = await world.list("/security-groups");
    expect(group).toMatchObject({ name: "default", project_id: "demo", description: "Default security group" });
    expect(group?.security_group_rules).toMatchObject([
      { direction: "egress", ethertype: "IPv4", remote_group_id: null },
      { direction: "ingress", ethertype: "IPv4", remote_group_id: group?.id },
      { direction: "egress", ethertype: "IPv6", remote_group_id: null },
      { direction: "ingress", ethertype: "IPv6", remote_group_id: group?.id },
    ]);
    expect(await world.list("/security-groups")).toHaveLength(1);
  });

  test("can be neither deleted, duplicated nor renamed; an administrator may delete it", async () => {
    const id = String((await world.list("/security-groups"))[0]?.id);
    const other = await world.group();
    const named = (name: string) => ({ security_group: { name } });
    expect(await world.getRejection("DELETE", `/security-groups/${id}`)).toBe("409 SecurityGroupCannotRemoveDefault");
    expect(await world.getRejection("POST", "/security-groups", named("default"))).toBe(
      "409 SecurityGroupDefaultAlreadyExists",
    );
    expect(await world.getRejection("PUT", `/security-groups/${id}`, named("x"))).toBe(
      "409 SecurityGroupCannotUpdateDefault",
    );
    expect(await world.getRejection("PUT", `/security-groups/${other}`, named("default"))).toBe(
      "409 SecurityGroupCannotUpdateDefault",
    );
    expect((await world.ask("DELETE", `/security-groups/${id}`, undefined, "admin")).status).toBe(204);
  });
});

describe("groups", () => {
  test("are created, changed and deleted; a new one allows all egress", async () => {
    const id = await world.group({ name: "web", description: "x" });
    const before = await world.get("GET", `/security-groups/${id}`);
    expect(before).toMatchObject({ name: "web", description: "x", stateful: true, revision_number: 1 });
    expect((before.security_group_rules as Body[]).map(({ direction }) => direction)).toEqual(["egress", "egress"]);
    const changed = await world.get("PUT", `/security-groups/${id}`, { security_group: { name: "w" } });
    expect(changed).toMatchObject({ name: "w", description: "x", revision_number: 2 });
    expect((await world.ask("DELETE", `/security-groups/${id}`)).status).toBe(204);
    expect(await world.getRejection("GET", `/security-groups/${id}`)).toBe("404 HTTPNotFound");
  });

  test("are visible to their project only", async () => {
    const id = await world.group({}, "alt");
    expect(await world.getRejection("GET", `/security-groups/${id}`)).toBe("404 HTTPNotFound");
    expect(await world.getRejection("DELETE", `/security-groups/${id}`)).toBe("404 HTTPNotFound");
    const own = await world.group();
    expect(await world.getRejection("DELETE", `/security-groups/${own}`, undefined, "reader")).toBe(
      "403 PolicyNotAuthorized",
    );
    const names = async (as: "demo" | "admin") =>
      (await world.list("/security-groups?fields=project_id", as)).map(({ project_id }) => project_id);
    expect(new Set(await names("demo"))).toEqual(new Set(["demo"]));
    expect(new Set(await names("admin"))).toEqual(new Set(["demo", "alt", "admin"]));
    const foreign = { security_group: { name: "x", project_id: "alt" } };
    expect(await world.getRejection("POST", "/security-groups", foreign)).toBe("403 PolicyNotAuthorized");
  });

  test("of a port cannot be deleted", async () => {
    const id = await world.group();
    const port = await world.port({ security_groups: [id] });
    expect(await world.getRejection("DELETE", `/security-groups/${id}`)).toBe("409 SecurityGroupInUse");
    await world.ask("DELETE", `/ports/${port.id}`);
    expect((await world.ask("DELETE", `/security-groups/${id}`)).status).toBe(204);
  });

  test("are limited by the quota", async () => {
    for (let count = 0; count < 9; count += 1) {
      await world.group({ name: `g${count}` });
    }
    expect(await world.getRejection("POST", "/security-groups", { security_group: { name: "one" } })).toBe(
      "409 OverQuota",
    );
  });

  test.each([
    [{ name: 1 }, "Invalid input for name"],
    [{ name: "x".repeat(256) }, "exceeds maximum length of 255"],
    [{ name: "x", stateful: "maybe" }, "cannot be converted to boolean"],
    [{ name: "x", color: "red" }, "Unrecognized attribute\\(s\\) 'color'"],
    [{ name: "x", project_id: "demo", tenant_id: "alt" }, "do not match"],
  ])("%j is rejected", async (body, message) => {
    const reply = await world.ask("POST", "/security-groups", { security_group: body });
    expect(reply.status).toBe(400);
    expect(reply.json("NeutronError", "message")).toMatch(new RegExp(message));
  });
});

describe("rules", () => {
  let group: string;

  beforeEach(async () => {
    group = await world.group();
  });

  test("are created as requested; host bits are kept, and removed in normalized_cidr", async () => {
    const made = await rule(group, {
      protocol: "TCP",
      port_range_min: "80",
      port_range_max: 90,
      remote_ip_prefix: "10.1.2.3/8",
    });
    expect(made.status).toBe(201);
    expect(made.json("security_group_rule")).toMatchObject({
      protocol: "tcp",
      port_range_min: 80,
      port_range_max: 90,
      remote_ip_prefix: "10.1.2.3/8",
      normalized_cidr: "10.0.0.0/8",
      ethertype: "IPv4",
      security_group_id: group,
    });
    const id = made.json("security_group_rule", "id");
    expect(await world.list(`/security-group-rules?security_group_id=${group}&direction=ingress`)).toMatchObject([
      { id },
    ]);
    expect((await world.ask("DELETE", `/security-group-rules/${id}`)).status).toBe(204);
    expect((await world.ask("GET", `/security-group-rules/${id}`)).status).toBe(404);
  });

  test.each([
    ["IPv4", "10.2.3.124", "10.2.3.124/32", "10.2.3.124/32"],
    ["IPv4", "10.2.3.124/0", "10.2.3.124/0", "0.0.0.0/0"],
    ["IPv6", "FD00:0:0:0:1::7/40", "fd00::1:0:0:7/40", "fd00::/40"],
    ["IPv6", "2001:db8:ff:1:2:3:4:5/63", "2001:db8:ff:1:2:3:4:5/63", "2001:db8:ff::/63"],
    ["IPv6", "::/0", "::/0", "::/0"],
    ["IPv6", "::1", "::1/128", "::1/128"],
  ])("%s from %s: %s, normalised %s", async (ethertype, requestedPrefix, prefix, network) => {
    const made = await rule(group, { ethertype, remote_ip_prefix: requestedPrefix });
    expect(made.json("security_group_rule")).toMatchObject({ remote_ip_prefix: prefix, normalized_cidr: network });
  });

  test("cannot be duplicated", async () => {
    const more = { protocol: "tcp", port_range_min: 80, port_range_max: 80 };
    await rule(group, more);
    const again = await rule(group, { ...more, description: "again" });
    expect(again.status).toBe(409);
    expect(again.json("NeutronError", "message")).toMatch(/already exists. Rule id is [0-9a-f-]{36}/);
  });

  test("are all created, or none", async () => {
    const one = { security_group_id: group, direction: "ingress", protocol: "tcp" };
    const bad = await world.ask("POST", "/security-group-rules", {
      security_group_rules: [one, { ...one, direction: "x" }],
    });
    expect(bad.status).toBe(400);
    expect(await world.list("/security-group-rules?direction=ingress&protocol=tcp")).toEqual([]);
    const good = await world.ask("POST", "/security-group-rules", {
      security_group_rules: [one, { ...one, protocol: "udp" }],
    });
    expect(good.json("security_group_rules")).toHaveLength(2);
  });

  test("are deleted with the group that they refer to", async () => {
    const remote = await world.group({ name: "remote" });
    await rule(group, { remote_group_id: remote });
    await world.ask("DELETE", `/security-groups/${remote}`);
    expect(await world.list(`/security-group-rules?security_group_id=${group}&direction=ingress`)).toEqual([]);
  });

  test("may refer to groups that the caller sees", async () => {
    const foreign = await world.group({}, "alt");
    for (const id of [foreign, "bad_group_id"]) {
      for (const more of [{ remote_group_id: id }, { security_group_id: id }]) {
        const reply = await rule(group, more);
        expect([reply.status, reply.json("NeutronError", "type")]).toEqual([404, "SecurityGroupNotFound"]);
      }
    }
  });

  test.each([
    [{ direction: "up" }, "HTTPBadRequest"],
    [{ ethertype: "IPv5" }, "SecurityGroupRuleInvalidEtherType"],
    [{ protocol: "nonsense" }, "SecurityGroupRuleInvalidProtocol"],
    [{ protocol: 256 }, "SecurityGroupRuleInvalidProtocol"],
    [{ protocol: "icmpv6" }, "SecurityGroupEthertypeConflictWithProtocol"],
    [{ port_range_min: 1, port_range_max: 2 }, "SecurityGroupProtocolRequiredWithPorts"],
    [{ protocol: "tcp", port_range_min: 2, port_range_max: 1 }, "SecurityGroupInvalidPortRange"],
    [{ protocol: "tcp", port_range_max: 1 }, "SecurityGroupInvalidPortRange"],
    [{ protocol: "tcp", port_range_min: 0, port_range_max: 1 }, "SecurityGroupInvalidPortValue"],
    [{ protocol: "tcp", port_range_min: 1, port_range_max: 65_536 }, "SecurityGroupInvalidPortValue"],
    [{ protocol: "gre", port_range_min: 1, port_range_max: 2 }, "SecurityGroupInvalidProtocolForPort"],
    [{ protocol: "icmp", port_range_min: 256 }, "SecurityGroupInvalidIcmpValue"],
    [{ protocol: "icmp", port_range_max: 1 }, "SecurityGroupMissingIcmpType"],
    [{ remote_ip_prefix: "10.0.0.0/33" }, "HTTPBadRequest"],
    [{ remote_ip_prefix: "nonsense" }, "HTTPBadRequest"],
    [{ remote_ip_prefix: "fd00::/8" }, "SecurityGroupRuleParameterConflict"],
    [{ ethertype: "IPv6", remote_ip_prefix: "fd00:::/8" }, "HTTPBadRequest"],
  ])("%j is rejected", async (more, type) => {
    const reply = await rule(group, more);
    expect([reply.status, reply.json("NeutronError", "type")]).toEqual([400, type]);
  });

  test("have a network or a group as their source, not both", async () => {
    const reply = await rule(group, { remote_group_id: group, remote_ip_prefix: "10.0.0.0/8" });
    expect(reply.json("NeutronError", "type")).toBe("SecurityGroupMultipleRemoteEntites");
  });
});
