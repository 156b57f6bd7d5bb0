import { beforeEach, describe, expect, test } from "vitest";
import { NETWORK, NetworkWorld, SUBNET } from "./network-world.js";

let world: NetworkWorld;

beforeEach(() => {
  world = new NetworkWorld();
});

describe("discovery", () => {
  test("names the version to everybody", async () => {
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

  test("everything else asks for a token", async () => {
    expect((await world.ask("GET", "/networks", undefined, "")).status).toBe(401);
  });

  test("unknown paths and methods are JSON", async () => {
    expect(await world.refusal("GET", "/nonsense")).toBe("404 HTTPNotFound");
    expect(await world.refusal("PUT", "/networks", {})).toBe("405 HTTPMethodNotAllowed");
  });
});

describe("the flat network", () => {
  test("is everybody's, with one subnet", async () => {
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

  test("tells administrators alone of its provider", async () => {
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
  ] as const)("%s %s says that there is no other", async (method, url, body) => {
    const reply = await world.ask(method, url, body, "admin");
    expect(reply.status).toBe(403);
    expect(reply.json("NeutronError", "message")).toMatch(/one flat network, 'private'.*Use the network 'private'/);
  });

  test("a reader hears that it may not", async () => {
    expect(await world.refusal("POST", "/networks", { network: {} }, "reader")).toBe("403 PolicyNotAuthorized");
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

  test("unknown filters, keys and directions are refused", async () => {
    for (const query of ["color=red", "sort_key=color", "sort_key=name&sort_dir=up", "limit=-1", "limit=x"]) {
      expect((await world.ask("GET", `/networks?${query}`)).status, query).toBe(400);
    }
    expect(await world.refusal("GET", "/networks?marker=gone")).toBe("404 MarkerNotFound");
    const many = Array.from({ length: 201 }, () => "name=a").join("&");
    expect((await world.ask("GET", `/networks?${many}`)).status).toBe(400);
  });

  test("have the fields that are asked for", async () => {
    expect(await world.list("/networks?fields=id&fields=name")).toEqual([{ id: NETWORK, name: "private" }]);
  });

  test("come in pages, in both directions", async () => {
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

describe("what clients ask on their way", () => {
  test("extensions", async () => {
    const found = (await world.list("/extensions")).map(({ alias }) => alias);
    expect(found).toContain("security-group");
    expect(found).not.toContain("router");
    expect((await world.ask("GET", "/extensions/router")).status).toBe(404);
  });

  test("zones, agents, the topology that is there already", async () => {
    expect(await world.list("/availability_zones")).toEqual([
      { name: "nova", resource: "network", state: "available" },
    ]);
    expect(await world.list("/agents", "admin")).toEqual([]);
    expect(await world.refusal("GET", "/agents")).toBe("403 PolicyNotAuthorized");
    expect(await world.get("GET", "/auto-allocated-topology/null")).toMatchObject({ id: NETWORK, project_id: "demo" });
  });

  test("quotas, of one's own project", async () => {
    await world.group();
    expect(await world.get("GET", "/quotas/demo/details")).toMatchObject({
      security_group: { limit: 10, used: 2, reserved: 0 },
      port: { limit: -1, used: 0 },
    });
    expect(await world.refusal("GET", "/quotas/alt")).toBe("403 PolicyNotAuthorized");
  });
});

test("a body that is none is refused", async () => {
  for (const body of ["{", "[]", '"x"', "{}", '{"security_group": 1}', '{"security_groups": []}']) {
    expect((await world.ask("POST", "/security-groups", body)).status, body).toBe(400);
  }
});
