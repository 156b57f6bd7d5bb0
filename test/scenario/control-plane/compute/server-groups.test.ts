import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

const PATH = "/compute/v2.1/os-server-groups";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
});

function create(group: Record<string, unknown>, version = 64, token?: string) {
  return world.ask({ method: "POST", url: PATH, body: { server_group: group }, version, token });
}

async function made(group: Record<string, unknown> = {}, token?: string): Promise<string> {
  const reply = await create({ name: "g", policy: "anti-affinity", ...group }, 64, token);
  return String(reply.json("server_group", "id"));
}

async function server(group: unknown, more: Record<string, unknown> = {}, token?: string) {
  const body = { server: { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none", ...more } };
  const hints = { "os:scheduler_hints": { group } };
  return world.ask({ method: "POST", url: "/compute/v2.1/servers", body: { ...body, ...hints }, version: 72, token });
}

const show = (id: string, version = 64, token?: string) => world.ask({ url: `${PATH}/${id}`, version, token });

describe("server groups", () => {
  test("have a list of one policy and metadata before 2.64, policy and rules since, and their owner since 2.13", async () => {
    const old = await create({ name: "old", policies: ["affinity"] }, 12);
    expect(old.status).toBe(200);
    const id = String(old.json("server_group", "id"));
    const expectedView = { id, name: "old", policies: ["affinity"], metadata: {}, members: [] };
    const whose = { project_id: world.projectId("admin"), user_id: world.userId("admin") };
    expect(old.json("server_group")).toEqual(expectedView);
    expect((await show(id, 13)).json("server_group")).toEqual({ ...expectedView, ...whose });
    const now = { id, name: "old", policy: "affinity", rules: {}, members: [], ...whose };
    expect((await show(id, 64)).json("server_group")).toEqual(now);
    const spread = await create({ name: "n", policy: "anti-affinity", rules: { max_server_per_host: "3" } });
    expect(spread.json("server_group", "rules")).toEqual({ max_server_per_host: 3 });
  });

  test.each<[string, number, Record<string, unknown>, string]>([
    [
      "soft policies",
      14,
      { policies: ["soft-affinity"] },
      "'soft-affinity' is not one of ['anti-affinity', 'affinity']",
    ],
    ["two policies", 15, { policies: ["affinity", "anti-affinity"] }, "is too long"],
    ["none", 15, {}, "'policies' is a required property"],
    ["the list", 64, { policies: ["affinity"] }, "'policy' is a required property"],
    ["rules of affinity", 64, { policy: "affinity", rules: { max_server_per_host: 2 } }, "Only anti-affinity policy"],
    ["a rule of nothing", 64, { policy: "anti-affinity", rules: { max_server_per_host: 0 } }, "max_server_per_host"],
    ["more than there is", 64, { policy: "anti-affinity", rules: { max_server_per_host: "9".repeat(400) } }, ""],
    ["a name that is none", 64, { name: " g", policy: "affinity" }, "An invalid 'name' value was provided"],
  ])("%s at 2.%i: 400", async (_what, version, group, message) => {
    const reply = await create({ name: "g", ...group }, version);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
    expect(world.store.serverGroups.list(undefined, { offset: 0, limit: 9 })).toEqual([]);
  });

  test("are read and deleted by their project; all_projects works for administrators only", async () => {
    const demo = await world.token("demo");
    const [ours, theirs] = [await made(), await made({ name: "theirs" }, demo)];
    const ids = async (query: string, token?: string) =>
      ((await world.ask({ url: PATH + query, version: 64, token })).json("server_groups") as { id: string }[]).map(
        ({ id }) => id,
      );
    expect(await ids("")).toEqual([ours]);
    expect(await ids("?all_projects=")).toEqual([ours, theirs]);
    expect(await ids("?all_projects=1&limit=1&offset=1")).toEqual([theirs]);
    expect(await ids("?all_projects=True", demo)).toEqual([theirs]);
    const hidden = await show(ours, 64, demo);
    expect([hidden.status, hidden.message]).toEqual([404, `Instance group ${ours} could not be found.`]);
    expect((await world.ask({ method: "DELETE", url: `${PATH}/${ours}`, token: demo })).status).toBe(404);
    expect((await world.ask({ method: "DELETE", url: `${PATH}/${theirs}`, token: demo })).status).toBe(204);
    expect((await show(theirs)).status).toBe(404);
    expect((await world.ask({ url: `${PATH}?what=1`, version: 75 })).status).toBe(400);
    expect((await world.ask({ url: `${PATH}?limit=-1`, version: 64 })).status).toBe(400);
  });

  test("have the servers that requested them until these are deleted; servers have their group since 2.71", async () => {
    const group = await made();
    const first = String((await server(group)).json("server", "id"));
    const second = String((await server(group, { name: "vm2" })).json("server", "id"));
    const members = async () => (await show(group)).json("server_group", "members");
    expect(await members()).toEqual([first, second]);
    const groups = async (version: number) =>
      (await world.ask({ url: `/compute/v2.1/servers/${first}`, version })).json("server", "server_groups");
    expect([await groups(70), await groups(71)]).toEqual([undefined, [group]]);
    expect((await world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${first}` })).status).toBe(204);
    expect(await members()).toEqual([second]);
    const built = world.store.requests.buildRequest(second)?.instance ?? expect.fail("no request");
    world.store.requests.destroyBuildRequest(second);
    world.store.instances.create({ ...built, vmState: "soft-delete", taskState: null });
    expect(await members(), "not while it is soft-deleted").toEqual([]);
    world.store.instances.save(second, { vmState: "active" });
    expect(await members()).toEqual([second]);
    world.store.instances.destroy(second);
    expect(await members()).toEqual([]);
    expect(world.store.serverGroups.places(1)).toEqual([]);
  });

  test("can be deleted without their servers; a server with an unknown group is rejected", async () => {
    const group = await made();
    const id = String((await server(group)).json("server", "id"));
    await world.ask({ method: "DELETE", url: `${PATH}/${group}` });
    const reply = await world.ask({ url: `/compute/v2.1/servers/${id}`, version: 71 });
    expect(reply.json("server", "server_groups")).toEqual([]);
    const rejection = await server(group);
    expect([rejection.status, rejection.message]).toEqual([400, `Instance group ${group} could not be found.`]);
    const theirs = await made({}, await world.token("demo"));
    expect((await server(theirs)).status, "an administrator may use another project's group").toBe(202);
    const ours = await made();
    expect((await server(ours, {}, await world.token("demo"))).status).toBe(400);
    expect((await server("g")).status, "by name").toBe(400);
  });
});
