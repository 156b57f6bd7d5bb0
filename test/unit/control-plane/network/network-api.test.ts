import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { type Body, NETWORK, NetworkWorld, SUBNET } from "./network-world.js";

let world: NetworkWorld;

beforeEach(() => {
  world = new NetworkWorld();
});

describe("discovery", () => {
  test("returns the version without a token", async () => {
    expect((await world.ask("GET", "//", undefined, "")).json()).toEqual({
      versions: [
        {
          id: "v2.0",
          status: "CURRENT",
          links: [{ rel: "self", href: "http://127.0.0.1:8774/network/v2.0/" }],
        },
      ],
    });
  });

  test("all other paths need a token", async () => {
    expect((await world.ask("GET", "/networks", undefined, "")).status).toBe(401);
  });

  test("unknown paths and methods are errors in JSON", async () => {
    expect(await world.getRejection("GET", "/nonsense")).toBe("404 HTTPNotFound");
    expect(await world.getRejection("PUT", "/networks", {})).toBe("405 HTTPMethodNotAllowed");
  });
});

describe("the flat network", () => {
  test("is visible to every project, with one subnet", async () => {
    expect(await world.list("/networks")).toMatchObject([
      { id: NETWORK, name: "private", shared: true, mtu: 1500, status: "ACTIVE", subnets: [SUBNET] },
    ]);
    expect(await world.get("GET", `/subnets/${SUBNET}`)).toMatchObject({
      network_id: NETWORK,
      cidr: "10.0.0.0/12",
      gateway_ip: "10.0.0.1",
      allocation_pools: [{ start: "10.0.0.2", end: "10.15.255.254" }],
    });
  });

  test("has its provider attributes for administrators only", async () => {
    expect(await world.get("GET", `/networks/${NETWORK}`)).not.toHaveProperty("provider:network_type");
    expect(await world.get("GET", `/networks/${NETWORK}`, undefined, "admin")).toMatchObject({
      "provider:network_type": "flat",
    });
  });

  test.each([
    ["POST", "/networks", { network: { name: "other" } }],
    ["PUT", `/networks/${NETWORK}`, { network: { name: "other" } }],
    ["DELETE", `/networks/${NETWORK}`, undefined],
    ["POST", "/subnets", { subnet: { network_id: NETWORK, cidr: "10.9.0.0/24" } }],
    ["POST", "/routers", { router: {} }],
    ["POST", "/floatingips", { floatingip: {} }],
  ] as const)("%s %s is rejected: there is no other network", async (method, url, body) => {
    const reply = await world.ask(method, url, body, "admin");
    expect(reply.status).toBe(403);
    expect(reply.json("NeutronError", "message")).toMatch(/one flat network, 'private'.*Use the network 'private'/);
  });

  test("a reader gets a policy error", async () => {
    expect(await world.getRejection("POST", "/networks", { network: {} }, "reader")).toBe("403 PolicyNotAuthorized");
  });
});

describe("lists", () => {
  test.each([
    ["name=private", 1],
    ["name=private&name=public", 1],
    ["name=public", 0],
    ["router:external=True", 0],
    ["shared=true", 1],
    [`subnets=${SUBNET}`, 1],
    ["tags=a", 0],
  ])("networks?%s", async (query, found) => {
    expect(await world.list(`/networks?${query}`)).toHaveLength(found);
  });

  test("unknown filters, keys and directions are rejected", async () => {
    for (const query of ["color=red", "sort_key=color", "sort_key=name&sort_dir=up", "limit=-1", "limit=x"]) {
      expect((await world.ask("GET", `/networks?${query}`)).status, query).toBe(400);
    }
    expect(await world.getRejection("GET", "/networks?marker=gone")).toBe("404 MarkerNotFound");
    const many = Array.from({ length: 201 }, () => "name=a").join("&");
    expect((await world.ask("GET", `/networks?${many}`)).status).toBe(400);
  });

  test("have the requested fields", async () => {
    expect(await world.list("/networks?fields=id&fields=name")).toEqual([{ id: NETWORK, name: "private" }]);
  });

  test("are paged in both directions", async () => {
    for (const name of ["b", "c", "a"]) {
      await world.group({ name });
    }
    const first = await world.ask("GET", "/security-groups?sort_key=name&sort_dir=asc&limit=2&fields=name&fields=id");
    const names = (reply: typeof first) =>
      (reply.json("security_groups") as { name: string }[]).map(({ name }) => name);
    expect(names(first)).toEqual(["a", "b"]);
    const next = String(first.json("security_groups_links", 0, "href")).replace(/^.*\/v2\.0/, "");
    const second = await world.ask("GET", next);
    expect(names(second)).toEqual(["c", "default"]);
    expect(second.json("security_groups_links", 0, "rel")).toBe("previous");
    const back = String(second.json("security_groups_links", 0, "href")).replace(/^.*\/v2\.0/, "");
    expect(names(await world.ask("GET", back))).toEqual(["a", "b"]);
  });
});

describe("discovery requests of clients", () => {
  test("extensions are listed", async () => {
    const found = (await world.list("/extensions")).map(({ alias }) => alias);
    expect(found).toContain("security-group");
    expect(found).not.toContain("router");
    expect((await world.ask("GET", "/extensions/router")).status).toBe(404);
  });

  test("zones, agents, and the existing topology are returned", async () => {
    expect(await world.list("/availability_zones")).toEqual([
      { name: "nova", resource: "network", state: "available" },
    ]);
    expect(await world.list("/agents", "admin")).toEqual([]);
    expect(await world.list("/agents")).toEqual([]);
    expect(await world.get("GET", "/auto-allocated-topology/null")).toMatchObject({ id: NETWORK, project_id: "demo" });
  });

  test("a dry run of the topology passes for administrators, and its deletion changes nothing", async () => {
    const path = "/auto-allocated-topology/demo";
    expect(await world.get("GET", `${path}?fields=dry-run`, undefined, "admin")).toEqual({
      id: "dry-run=pass",
      tenant_id: "demo",
      project_id: "demo",
    });
    expect(await world.getRejection("GET", `${path}?fields=dry-run`)).toBe("404 HTTPNotFound");
    const reply = await world.ask("GET", `${path}?fields=id`);
    expect([reply.status, reply.json("NeutronError", "message")]).toEqual([
      400,
      "Bad auto_allocate request: Unrecognized field.",
    ]);
    expect(await world.getRejection("GET", path, undefined, "alt")).toBe("403 NotAuthorized");
    expect(await world.getRejection("DELETE", path, undefined, "reader")).toBe("403 PolicyNotAuthorized");
    expect((await world.ask("DELETE", path)).status).toBe(204);
    expect(await world.list("/networks")).toHaveLength(1);
  });

  test("administrators get the number of used addresses", async () => {
    await world.port();
    const used = { used_ips: 1, total_ips: 1_048_573 };
    const availability = {
      network_id: NETWORK,
      network_name: "private",
      tenant_id: "",
      project_id: "",
      subnet_ip_availability: [
        { subnet_id: SUBNET, ip_version: 4, cidr: "10.0.0.0/12", subnet_name: "private-subnet", ...used },
      ],
      ...used,
    };
    const path = "/network-ip-availabilities";
    expect(await world.list(path, "admin")).toEqual([availability]);
    expect(await world.list(`${path}?network_name=other`, "admin")).toEqual([]);
    expect(await world.get("GET", `${path}/${NETWORK}`, undefined, "admin")).toEqual(availability);
    expect(await world.list(path)).toEqual([]);
    expect(await world.getRejection("GET", `${path}/${NETWORK}`)).toBe("404 HTTPNotFound");
  });

  test("quotas of the caller's project are returned", async () => {
    await world.group();
    expect(await world.get("GET", "/quotas/demo/details")).toMatchObject({
      security_group: { limit: 10, used: 2, reserved: 0 },
      port: { limit: -1, used: 0 },
    });
    expect(await world.getRejection("GET", "/quotas/alt")).toBe("403 PolicyNotAuthorized");
  });
});

describe("quotas", () => {
  const put = (body: Body, as: Caller = "admin") => world.ask("PUT", "/quotas/demo", { quota: body }, as);

  test("are set, listed and reset by administrators", async () => {
    const changed = { security_group: 3, port: 1, network: 5 };
    expect((await put({ ...changed, security_group: "3", force: true })).json("quota")).toMatchObject({
      ...changed,
      security_group_rule: 100,
    });
    expect(await world.get("GET", "/quotas/demo")).toMatchObject(changed);
    expect(await world.get("GET", "/quotas/demo/default")).toMatchObject({ security_group: 10, port: -1, network: 0 });
    expect(await world.list("/quotas", "admin")).toEqual([
      { ...(await world.get("GET", "/quotas/demo")), project_id: "demo", tenant_id: "demo" },
    ]);
    expect((await world.ask("DELETE", "/quotas/demo", undefined, "admin")).status).toBe(204);
    expect(await world.get("GET", "/quotas/demo")).toMatchObject({ security_group: 10, port: -1 });
    const again = await world.ask("DELETE", "/quotas/demo", undefined, "admin");
    expect([again.status, again.json("NeutronError", "message")]).toEqual([
      404,
      "Quota for tenant demo could not be found.",
    ]);
  });

  test("are validated, and users may not set them", async () => {
    for (const [body, text] of [
      [{ bogus: 1 }, "Unrecognized attribute(s) 'bogus'"],
      [{ port: "x" }, "Invalid input for port. Reason: 'x' is not an integer."],
      [{ port: -2 }, "Invalid input for port. Reason: '-2' is too small - must be at least '-1'."],
    ] as const) {
      const reply = await put(body);
      expect([reply.status, reply.json("NeutronError", "message")]).toEqual([400, text]);
    }
    await world.group();
    const used = await put({ security_group: 1, check_limit: true });
    expect(used.json("NeutronError", "message")).toBe(
      "Quota limit 1 for security_group must be greater than or equal to already used 2",
    );
    expect((await put({ port: 1 }, "demo")).json("NeutronError", "message")).toBe(
      "rule:update_quota is disallowed by policy",
    );
    expect(await world.getRejection("DELETE", "/quotas/demo")).toBe("403 PolicyNotAuthorized");
    expect(await world.getRejection("GET", "/quotas")).toBe("403 PolicyNotAuthorized");
  });

  test("limit ports, security groups and rules of the project", async () => {
    await put({ port: 1, security_group: 1, security_group_rule: 4 });
    await world.port();
    const group = (await world.list("/security-groups"))[0]?.id;
    const rule = { security_group_id: group, direction: "ingress", protocol: "tcp" };
    expect(await world.getRejection("POST", "/ports", { port: { network_id: NETWORK } })).toBe("409 OverQuota");
    expect(await world.getRejection("POST", "/security-groups", { security_group: { name: "b" } })).toBe(
      "409 OverQuota",
    );
    expect(await world.getRejection("POST", "/security-group-rules", { security_group_rule: rule })).toBe(
      "409 OverQuota",
    );
    await put({ port: -1 });
    await world.port();
    await world.port({}, "alt");
  });
});

describe("tags", () => {
  const kinds = async (): Promise<readonly string[]> => [
    `/networks/${NETWORK}`,
    `/subnets/${SUBNET}`,
    `/ports/${(await world.port()).id}`,
    `/security-groups/${await world.group()}`,
  ];

  test("of networks, subnets, ports and security groups are set, found and removed", async () => {
    for (const path of await kinds()) {
      expect((await world.ask("PUT", `${path}/tags/red`)).status).toBe(201);
      expect((await world.ask("GET", `${path}/tags/red`)).status).toBe(204);
      expect((await world.ask("PUT", `${path}/tags`, { tags: ["blue", "green"] })).json()).toEqual({
        tags: ["blue", "green"],
      });
      expect((await world.get("GET", path)).tags).toEqual(["blue", "green"]);
      expect((await world.ask("GET", `${path}/tags`)).json()).toEqual({ tags: ["blue", "green"] });
      expect((await world.ask("DELETE", `${path}/tags/blue`)).status).toBe(204);
      const gone = await world.ask("DELETE", `${path}/tags/blue`);
      expect([gone.status, gone.json("NeutronError", "message")]).toEqual([404, "Tag blue could not be found."]);
      expect((await world.ask("DELETE", `${path}/tags`)).status).toBe(204);
      expect((await world.get("GET", path)).tags).toEqual([]);
    }
  });

  test("filter lists", async () => {
    const port = await world.port({ tags: ["blue", "green"], name: "both" });
    await world.port({ tags: ["blue"], name: "one" });
    await world.port({ name: "none" });
    const names = async (query: string) => (await world.list(`/ports?${query}`)).map(({ name }) => name);
    expect(port.tags).toEqual(["blue", "green"]);
    expect(await names("tags=blue,green")).toEqual(["both"]);
    expect(await names("tags-any=green,red")).toEqual(["both"]);
    expect(await names("not-tags=blue,green")).toEqual(["one", "none"]);
    expect(await names("not-tags-any=blue,green")).toEqual(["none"]);
  });

  test("are validated, and are deleted with their resource", async () => {
    const { id } = await world.port();
    const path = `/ports/${id}/tags`;
    for (const [tags, text] of [
      ["x", "Invalid input for operation: 'x' is not a list."],
      [["a", "a"], "Invalid input for operation: Duplicate items in the list: 'a'."],
      [[1], "Invalid input for operation: '1' is not a valid string."],
      [["t".repeat(256)], `Invalid input for operation: '${"t".repeat(256)}' exceeds maximum length of 255.`],
    ] as const) {
      const reply = await world.ask("PUT", path, { tags });
      expect([reply.status, reply.json("NeutronError", "message")]).toEqual([400, text]);
    }
    const other = await world.ask("PUT", `${path}/red`, undefined, "alt");
    expect([other.status, other.json("NeutronError", "message")]).toEqual([
      404,
      `Resource port ${id} could not be found.`,
    ]);
    await world.ask("PUT", `${path}/red`);
    expect((await world.get("GET", `/ports/${id}`)).revision_number).toBe(2);
    await world.ask("DELETE", `/ports/${id}`);
    expect(world.store.database.all("SELECT * FROM network_tags")).toEqual([]);
  });
});

test("an invalid body is rejected", async () => {
  for (const body of ["{", "[]", '"x"', "{}", '{"security_group": 1}', '{"security_groups": []}']) {
    expect((await world.ask("POST", "/security-groups", body)).status, body).toBe(400);
  }
});
