import { beforeEach, describe, expect, test } from "vitest";
import { NETWORK_ID } from "../../../fixtures/test-network.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";
import {
  attachPorts,
  createExternalNetwork,
  createGroup,
  createNetwork,
  requestRecord,
} from "../../../unit/control-plane/compute/network-records.js";

type User = "admin" | "demo";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.host("devstack1");
});

async function ask(method: string, path: string, body?: unknown, as: User = "demo", version = 35): Promise<Reply> {
  return world.ask({ method, url: `/compute/v2.1${path}`, body, version, token: await world.token(as) });
}

async function resultOf(pending: Promise<Reply>): Promise<string> {
  const reply = await pending;
  return reply.status >= 400 ? `${reply.status} ${reply.message}` : String(reply.status);
}

/** Returns the values of a member of all records in a list. */
async function listOf(path: string, key: string, member: string, as: User = "demo"): Promise<readonly unknown[]> {
  const records = (await ask("GET", path, undefined, as)).json(key) as Record<string, unknown>[];
  return records.map((record) => record[member]);
}

describe("os-networks and os-tenant-networks", () => {
  test.each(["os-networks", "os-tenant-networks"])("%s lists the networks that the Network API shows", async (name) => {
    const own = await createNetwork(world, { name: "own" }, { as: "demo" });
    const foreign = await createNetwork(world, { name: "foreign" });
    const { networkId: external } = await createExternalNetwork(world);
    expect((await listOf(`/${name}`, "networks", "id")).toSorted()).toEqual([NETWORK_ID, own, external].toSorted());
    expect(await listOf(`/${name}`, "networks", "id", "admin")).toContain(foreign);
    expect((await ask("GET", `/${name}/${own}`)).json("network", "label")).toBe("own");
    expect(await resultOf(ask("GET", `/${name}/${foreign}`))).toBe("404 Network not found");
  });

  test("have the former attributes without values; administrators see more of them", async () => {
    const own = await createNetwork(world, { name: "own" }, { as: "demo" });
    const view = (await ask("GET", `/os-networks/${own}`)).json("network") as object;
    expect(view).toMatchObject({ id: own, label: "own", cidr: null, gateway: null, netmask_v6: null });
    expect(view).not.toHaveProperty("vlan");
    expect((await ask("GET", `/os-networks/${own}`, undefined, "admin")).json("network")).toMatchObject({ vlan: null });
    expect((await ask("GET", `/os-tenant-networks/${own}`)).json("network")).toEqual({
      id: own,
      label: "own",
      cidr: "None",
    });
  });

  test("change nothing", async () => {
    expect((await ask("POST", "/os-networks", { network: { label: "x" } }, "admin")).status).toBe(410);
    expect((await ask("DELETE", `/os-networks/${NETWORK_ID}`, undefined, "admin")).status).toBe(410);
    expect((await ask("POST", "/os-tenant-networks", { network: { label: "x" } }, "admin")).status).toBe(410);
  });
});

describe("os-security-groups", () => {
  test("lists the groups of the caller's project, with default; an administrator sees all on request", async () => {
    const [own, foreign] = [await createGroup(world, "web", "demo"), await createGroup(world, "theirs")];
    expect(await listOf("/os-security-groups", "security_groups", "name")).toEqual(["default", "web"]);
    expect(await listOf("/os-security-groups?all_tenants=1", "security_groups", "id")).not.toContain(foreign);
    const all = await listOf("/os-security-groups?all_tenants=1", "security_groups", "id", "admin");
    expect(all).toEqual(expect.arrayContaining([own, foreign]));
  });

  test("pages by limit and offset, and rejects other values", async () => {
    for (const name of ["a", "b", "c"]) {
      await createGroup(world, name, "demo");
    }
    const [all, first, second] = await Promise.all(
      ["", "?limit=2", "?limit=2&offset=2"].map((query) =>
        listOf(`/os-security-groups${query}`, "security_groups", "id"),
      ),
    );
    expect(all).toHaveLength(4);
    expect([...(first ?? []), ...(second ?? [])].toSorted()).toEqual(all?.toSorted());
    expect((await ask("GET", "/os-security-groups?limit=-1")).status).toBe(400);
    expect((await ask("GET", "/os-security-groups?offset=x")).status).toBe(400);
  });

  test("have the ingress rules only, with the groups that they name", async () => {
    const [group, source] = [await createGroup(world, "web", "demo"), await createGroup(world, "source", "demo")];
    const rule = { security_group_id: group, direction: "ingress", protocol: "tcp", port_range_min: 80 };
    for (const more of [
      { port_range_max: 80, remote_ip_prefix: "10.0.0.0/8" },
      { port_range_max: 90, remote_group_id: source },
    ]) {
      await requestRecord(
        world,
        "POST",
        "/security-group-rules",
        { security_group_rule: { ...rule, ...more } },
        "demo",
      );
    }
    const rules = (await ask("GET", `/os-security-groups/${group}`)).json("security_group", "rules") as object[];
    expect(rules).toHaveLength(2);
    expect(rules).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ip_protocol: "tcp", to_port: 80, ip_range: { cidr: "10.0.0.0/8" }, group: {} }),
        expect.objectContaining({
          to_port: 90,
          ip_range: {},
          group: { name: "source", tenant_id: world.projectId("demo") },
        }),
      ]),
    );
  });

  test("hide the groups of other projects", async () => {
    const foreign = await createGroup(world, "theirs");
    const missing = `404 Security group ${foreign} does not exist`;
    const group = { security_group: { name: "x", description: "" } };
    const rule = { parent_group_id: foreign, ip_protocol: "tcp", from_port: 22, to_port: 22 };
    expect(await resultOf(ask("GET", `/os-security-groups/${foreign}`))).toBe(missing);
    expect(await resultOf(ask("PUT", `/os-security-groups/${foreign}`, group))).toBe(missing);
    expect(await resultOf(ask("DELETE", `/os-security-groups/${foreign}`))).toBe(missing);
    expect(await resultOf(ask("POST", "/os-security-group-rules", { security_group_rule: rule }))).toBe(missing);
    expect(await resultOf(ask("GET", "/os-security-groups/x"))).toBe("400 Security group id should be uuid");
  });

  test("are limited by the quota of the Network service", async () => {
    const group = await createGroup(world, "web", "demo");
    const quota = { security_group: 2, security_group_rule: 6 };
    await requestRecord(world, "PUT", `/quotas/${world.projectId("demo")}`, { quota });
    const reply = await ask("POST", "/os-security-groups", { security_group: { name: "x", description: "" } });
    expect([reply.status, reply.message]).toEqual([403, "Quota exceeded for resources: ['security_group']."]);
    const rule = { parent_group_id: group, ip_protocol: "tcp", from_port: 22, to_port: 22 };
    expect(await resultOf(ask("POST", "/os-security-group-rules", { security_group_rule: rule }))).toBe(
      "403 Quota exceeded for resources: ['security_group_rule'].",
    );
  });

  test("cannot be deleted while a server has them; default cannot be deleted or renamed", async () => {
    const group = await createGroup(world, "web", "demo");
    const server = world.server("devstack1", { projectId: world.projectId("demo") });
    attachPorts(world, server, [NETWORK_ID], [group]);
    expect(await resultOf(ask("DELETE", `/os-security-groups/${group}`))).toMatch(/^400 Security Group .* in use\.$/);
    const [fallback] = world.network.securityGroups.find(world.projectId("demo"), "default");
    expect(await resultOf(ask("DELETE", `/os-security-groups/${fallback?.id}`))).toMatch(/^400 /);
    const renamed = { security_group: { name: "x", description: "" } };
    expect((await ask("PUT", `/os-security-groups/${fallback?.id}`, renamed)).status).toBe(403);
  });

  test("of a server are those of all its ports", async () => {
    const [web, ssh] = [await createGroup(world, "web", "demo"), await createGroup(world, "ssh", "demo")];
    const server = world.server("devstack1", { projectId: world.projectId("demo") });
    attachPorts(world, server, [NETWORK_ID], [web]);
    attachPorts(world, server, [NETWORK_ID], [web, ssh]);
    expect(await listOf(`/servers/${server.uuid}/os-security-groups`, "security_groups", "name")).toEqual([
      "ssh",
      "web",
    ]);
    expect(await resultOf(ask("GET", `/servers/${CIRROS}/os-security-groups`))).toMatch(/^404 /);
  });
});

describe("security groups of ports without port security", () => {
  test("are left out when a group is added to the server", async () => {
    const open = await createNetwork(world, { port_security_enabled: false }, { as: "demo" });
    const web = await createGroup(world, "web", "demo");
    const server = world.server("devstack1", { projectId: world.projectId("demo") });
    attachPorts(world, server, [open, NETWORK_ID]);
    const token = await world.token("demo");
    expect((await world.act(server, { addSecurityGroup: { name: "web" } }, 35, token)).status).toBe(202);
    const ports = world.network.ports.ofServer(server.uuid);
    expect(ports.map(({ securityGroupIds }) => securityGroupIds.includes(web))).toEqual([false, true]);
  });
});
