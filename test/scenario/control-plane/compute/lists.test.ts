import { beforeEach, describe, expect, test } from "vitest";
import type { NewInstance } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

function list(query = "", version = 1, token?: string) {
  return world.ask({ url: `/compute/v2.1/servers${query}`, version, token });
}
async function names(query = "", version = 1, token?: string) {
  const reply = await list(query, version, token);
  expect(reply.status, reply.body).toBe(200);
  return (reply.json("servers") as { name: string }[]).map(({ name }) => name);
}
function server(displayName: string, changes: Partial<NewInstance> = {}) {
  return world.server("devstack1", { displayName, hostname: displayName, ...changes });
}
async function ask(name: string) {
  const body = { server: { name, flavorRef: "1", imageRef: CIRROS, networks: "none" } };
  const reply = await world.ask({ method: "POST", url: "/compute/v2.1/servers", version: 37, body });
  return String(reply.json("server", "id"));
}

describe("filters of servers", () => {
  beforeEach(() => {
    server("web1", { tags: ["a", "b"], metadata: {} });
    server("web2", { vmState: "stopped", powerState: 4, tags: ["a"], locked: true });
    server("db1", { vmState: "active", taskState: "migrating", hostname: "db1", displayDescription: "store" });
    world.server("devstack2", { displayName: "other", projectId: world.projectId("demo") });
  });

  test.each<[string, number, string[]]>([
    ["", 1, ["db1", "web2", "web1"]],
    ["?name=web", 1, ["web2", "web1"]],
    ["?name=^db.$", 1, ["db1"]],
    ["?name=WEB1|db", 1, ["db1", "web1"]],
    [String.raw`?name=w\w%2B\d\Z`, 1, ["web2", "web1"]],
    [`?name=${"(a|a)".repeat(40)}b`, 1, []],
    ["?name=web&limit=1", 1, ["web2"]],
    ["?name=web&tags=b", 26, ["web1"]],
    ["?status=ACTIVE", 1, ["db1", "web1"]],
    ["?status=shutoff", 1, ["web2"]],
    ["?status=MIGRATING", 1, ["db1"]],
    // As in Nova, a status that is independent of the task state widens the others to their vm_state.
    ["?status=SHUTOFF&status=MIGRATING", 1, ["db1", "web2", "web1"]],
    ["?status=tired", 37, []],
    ["?host=devstack2", 1, []],
    ["?host=devstack2&all_tenants=True", 1, ["other"]],
    ["?all_tenants=1", 1, ["other", "db1", "web2", "web1"]],
    ["?all_tenants=0", 1, ["db1", "web2", "web1"]],
    ["?flavor=1&image=c0ffee00-0000-4000-8000-000000000001", 1, ["db1", "web2", "web1"]],
    ["?flavor=2", 1, []],
    ["?vm_state=stopped", 1, ["web2"]],
    ["?task_state=migrating", 1, ["db1"]],
    ["?power_state=4", 1, ["web2"]],
    ["?hostname=db1", 1, ["db1"]],
    ["?description=store", 1, ["db1"]],
    ["?ip=10", 1, []],
    ["?tags=a,b", 26, ["web1"]],
    ["?tags-any=b,c", 26, ["web1"]],
    ["?not-tags=a,b", 26, ["db1", "web2"]],
    ["?not-tags-any=a", 26, ["db1"]],
    ["?locked=true", 73, ["web2"]],
    ["?deleted=true", 1, []],
    ["?sort_key=display_name&sort_dir=asc", 1, ["db1", "web1", "web2"]],
    ["?sort_key=id&sort_key=display_name&sort_dir=asc", 74, ["db1", "web1", "web2"]],
    ["?sort_key=vm_state&sort_key=display_name&sort_dir=asc", 1, ["db1", "web1", "web2"]],
    ["?limit=2", 1, ["db1", "web2"]],
    ["?limit=0", 1, []],
  ])("%s (2.%i)", async (query, version, expected) => {
    expect(await names(query, version)).toEqual(expected);
  });

  test.each<[string, number, string]>([
    ["?status=tired", 38, "Invalid status value"],
    ["?limit=-1", 1, "Invalid input for query parameters limit. Value: -1. '-1' does not match '^[0-9]*$'"],
    ["?limit=x", 1, "Invalid input for query parameters limit."],
    ["?marker=00000000-0000-4000-8000-000000000000", 1, "marker [00000000-0000-4000-8000-000000000000] not found"],
    ["?changes-since=yesterday", 1, "'yesterday' is not a 'date-time'"],
    ["?changes-since=2026-02-01T00:00:00Z&changes-before=2026-01-01T00:00:00Z", 66, "must be less than or equal"],
    ["?all_tenants=perhaps", 1, "Unrecognized value 'perhaps'"],
    ["?colour=red", 75, "Additional properties are not allowed ('colour' was unexpected)"],
    ["?sort_key=id", 75, "Invalid input for query parameters sort_key."],
    ["?sort_key=colour", 1, "Invalid input for query parameters sort_key."],
    ["?name=(((", 1, "Invalid input for query parameters name. Value: (((. '(((' is not a 'regex'"],
    ["?name=", 1, "Invalid input for query parameters name. Value: . '' is not a 'regex'"],
    [String.raw`?name=(a)\1`, 1, String.raw`Value: (a)\1. '(a)\\1' is not a 'regex'`],
    [`?${"ip=1&".repeat(201)}`, 1, "The query has 201 parameters; there may be 200."],
    ["?hostname=*", 1, "Invalid input for query parameters hostname. Value: *. '*' is not a 'regex'"],
  ])("%s (2.%i) is rejected", async (query, version, message) => {
    const reply = await list(query, version);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("are fewer for users than for administrators, and more since 2.83", async () => {
    const token = await world.token("demo");
    expect(await names("?vm_state=stopped&host=devstack1", 82, token)).toEqual(["other"]);
    expect(await names("?vm_state=stopped", 83, token)).toEqual([]);
    const reply = await list("?status=DELETED", 1, token);
    expect([reply.status, reply.message]).toEqual([403, "Only administrators may list deleted instances"]);
  });
});

describe("pages of servers", () => {
  test("begin with build requests, and contain each server once", async () => {
    for (const name of ["a", "b", "c"]) {
      server(name);
      await world.world.advance(1000);
    }
    for (const name of ["d", "e"]) {
      await ask(name);
    }
    const listedNames: string[] = [];
    let path: string | undefined = "?limit=2";
    while (path !== undefined) {
      const reply = await list(path);
      listedNames.push(...(reply.json("servers") as { name: string }[]).map(({ name }) => name));
      const next = reply.json("servers_links", 0, "href") as string | undefined;
      path = next?.slice(next.indexOf("?"));
    }
    expect(listedNames).toEqual(["e", "d", "c", "b", "a"]);
  });

  test("with a name filter accept any marker as a position in the order", async () => {
    for (const name of ["web1", "db1", "web2", "db2", "web3"]) {
      server(name);
      await world.world.advance(1000);
    }
    const marker = world.store.instances.names({})[1]?.uuid;
    expect(await names(`?name=web&limit=1&marker=${marker}`)).toEqual(["web2"]);
    expect(await names(`?name=db&limit=1&marker=${marker}`)).toEqual(["db1"]);
  });

  test("work with a filter that the database does not evaluate", async () => {
    for (let index = 0; index < 6; index += 1) {
      server(`s${index}`, { tags: index % 2 === 0 ? ["even"] : [] });
    }
    const first = await list("?tags=even&limit=2", 26);
    expect(first.json("servers")).toHaveLength(2);
    const next = String(first.json("servers_links", 0, "href"));
    expect(await names(next.slice(next.indexOf("?")), 26)).toEqual(["s0"]);
  });
});

describe("filters by time compare with the rendered time", () => {
  const earlier = "2025-12-31T23:59:59Z";
  const time = "2026-01-01T00:00:00Z";
  const later = "2026-01-01T00:00:01Z";

  beforeEach(async () => {
    await world.world.advance(600);
  });

  test("changes-since and changes-before include the rendered time of a server", async () => {
    const { uuid } = server("web1");
    const reply = await world.ask({ url: `/compute/v2.1/servers/${uuid}` });
    const updated = String(reply.json("server", "updated"));
    expect(updated).toBe(time);
    expect(await names(`?changes-before=${updated}`, 66)).toEqual(["web1"]);
    expect(await names(`?changes-since=${updated}&changes-before=${updated}`, 66)).toEqual(["web1"]);
    expect(await names("?changes-before=2026-01-01T00:00:00.3Z", 66)).toEqual(["web1"]);
    expect(await names("?changes-since=2026-01-01T00:00:00.3Z", 66)).toEqual([]);
    expect(await names(`?changes-before=${earlier}`, 66)).toEqual([]);
    expect(await names(`?changes-since=${later}`, 66)).toEqual([]);
  });

  test("a build request is compared in the same way", async () => {
    const id = await ask("new");
    const reply = await world.ask({ url: `/compute/v2.1/servers/${id}` });
    const updated = String(reply.json("server", "updated"));
    expect(await names(`?changes-since=${updated}&changes-before=${updated}`, 66)).toEqual(["new"]);
  });

  test("created_at and launched_at of servers match the rendered time", async () => {
    const { uuid } = server("web1", { launchedAt: world.runtime.clock.now() + 7 });
    const reply = await world.ask({ url: `/compute/v2.1/servers/${uuid}` });
    const created = String(reply.json("server", "created"));
    const launched = String(reply.json("server", "OS-SRV-USG:launched_at"));
    expect(await names(`?created_at=${created}`, 83)).toEqual(["web1"]);
    expect(await names(`?launched_at=${launched}`, 83)).toEqual(["web1"]);
    expect(await names(`?created_at=${later}`, 83)).toEqual([]);
  });

  test("instance actions are rendered and compared with microseconds", async () => {
    const instance = server("web1");
    await world.act(instance, { migrate: null });
    const path = `/compute/v2.1/servers/${instance.uuid}/os-instance-actions`;
    const listed = async (query: string) =>
      (await world.ask({ url: `${path}?${query}`, version: 66 })).json("instanceActions") as { updated_at: string }[];
    const updated = String((await listed(""))[0]?.updated_at);
    expect(updated).toBe("2026-01-01T00:00:00.600000");
    expect(await listed(`changes-since=${updated}&changes-before=${updated}`)).toHaveLength(1);
    expect(await listed(`changes-before=${time}`)).toEqual([]);
  });
});

test.each(["host", "node"])("only administrators can sort servers by %s", async (name) => {
  const reply = await list(`?sort_key=uuid&sort_key=${name}`, 1, await world.token("demo"));
  expect([reply.status, reply.message]).toEqual([403, `Only administrators can sort servers by ${name}`]);
  expect((await list(`?sort_key=${name}`)).status).toBe(200);
});

test("changes-since includes deleted servers", async () => {
  const { uuid } = server("gone");
  world.store.instances.save(uuid, { vmState: "deleted", terminatedAt: world.world.now });
  world.store.instances.destroy(uuid);
  expect(await names()).toEqual([]);
  expect(await names("?changes-since=2025-01-01T00:00:00Z")).toEqual(["gone"]);
  expect(await names("?changes-since=2027-01-01T00:00:00Z")).toEqual([]);
  expect(await names("?deleted=1")).toEqual(["gone"]);
  expect((await list("/detail?status=DELETED")).json("servers", 0, "status")).toBe("DELETED");
});

describe("instance actions", () => {
  const get = (uuid: string, path: string, version: number, token?: string) =>
    world.ask({ url: `/compute/v2.1/servers/${uuid}/os-instance-actions${path}`, version, token });

  const withEvent = (changes: Partial<NewInstance> = {}) => {
    const instance = server("vm", changes);
    const { uuid: instanceUuid, projectId } = instance;
    const action = { instanceUuid, requestId: "req-1", userId: "u", projectId };
    world.store.actions.start({ ...action, action: "create" });
    const id = world.store.actions.startEvent({
      instanceUuid,
      event: "compute__do",
      host: "devstack1",
      requestId: "req-1",
    });
    world.store.actions.finishEvent(id ?? 0, { result: "Error", details: "why", traceback: "where" });
    return instance;
  };

  test("2.51 events for all users, 2.58 updated_at, 2.62 host and hostId, 2.84 details", async () => {
    const { uuid } = withEvent();
    const action = async (version: number) => (await get(uuid, "/req-1", version)).json("instanceAction") as object;
    expect(await action(57)).not.toHaveProperty("updated_at");
    expect(await action(58)).toHaveProperty("updated_at");
    expect(await action(61)).not.toHaveProperty("events.0.host");
    expect(await action(62)).toMatchObject({ message: "Error", events: [{ host: "devstack1", traceback: "where" }] });
    expect(await action(83)).not.toHaveProperty("events.0.details");
    expect(await action(84)).toMatchObject({ events: [{ details: "why", hostId: expect.stringMatching(/^\w{56}$/) }] });
    expect((await get(uuid, "/req-2", 1)).message).toBe("Action req-2 not found");
  });

  test("the owner gets no tracebacks and hosts", async () => {
    const { uuid } = withEvent({ projectId: world.projectId("demo") });
    const token = await world.token("demo");
    expect((await get(uuid, "/req-1", 50, token)).json("instanceAction")).not.toHaveProperty("events");
    const event = (await get(uuid, "/req-1", 84, token)).json("instanceAction", "events", 0);
    expect(Object.keys(event as object)).toEqual(["event", "start_time", "finish_time", "result", "hostId"]);
  });

  test("2.21 deleted servers have them as well, 2.58 in pages", async () => {
    const { uuid, projectId } = withEvent();
    world.store.actions.start({ action: "stop", instanceUuid: uuid, requestId: "req-2", userId: "u", projectId });
    const page = await get(uuid, "?limit=1", 58);
    expect(page.json("instanceActions", 0, "action")).toBe("stop");
    expect(String(page.json("links", 0, "href"))).toMatch(/os-instance-actions\?limit=1&marker=req-2$/);
    expect((await get(uuid, "?limit=1&marker=req-2", 58)).json("instanceActions", 0, "action")).toBe("create");
    world.store.instances.destroy(uuid);
    expect((await get(uuid, "", 20)).status).toBe(404);
    expect((await get(uuid, "", 21)).json("instanceActions")).toHaveLength(2);
  });
});

describe("migrations", () => {
  const live = (status: "running" | "completed" = "running") => {
    const { uuid } = server("vm");
    const changes = { sourceCompute: "devstack1", memoryTotal: 512, userId: "u", projectId: "p" };
    return world.store.migrations.create({ instanceUuid: uuid, migrationType: "live-migration", status, changes });
  };

  test.each<[number, string]>([
    [23, "migration_type"],
    [23, "links"],
    [59, "uuid"],
    [80, "user_id"],
  ])("2.%i: %s", async (minor, member) => {
    live();
    const first = async (version: number) =>
      (await world.ask({ url: "/compute/v2.1/os-migrations", version })).json("migrations", 0);
    expect(await first(minor - 1)).not.toHaveProperty(member);
    expect(await first(minor)).toHaveProperty(member);
  });

  test("are filtered and paged", async () => {
    const all = [live(), live("completed"), live()];
    const found = async (query: string, version = 80) => {
      const reply = await world.ask({ url: `/compute/v2.1/os-migrations${query}`, version });
      expect(reply.status, reply.body).toBe(200);
      return (reply.json("migrations") as { id: number }[]).map(({ id }) => all.findIndex((one) => one.id === id));
    };
    expect(await found("", 58)).toEqual([0, 1, 2]);
    expect(await found("")).toEqual([2, 1, 0]);
    expect(await found("?status=completed")).toEqual([1]);
    expect(await found("?status=tired")).toEqual([]);
    expect(await found("?migration_type=evacuation")).toEqual([]);
    expect(await found(`?instance_uuid=${all[0]?.instanceUuid}`)).toEqual([0]);
    expect(await found("?user_id=x")).toEqual([]);
    expect(await found("?limit=1")).toEqual([2]);
    expect(await found(`?limit=5&marker=${all[2]?.uuid}`)).toEqual([1, 0]);
    expect(await found("?changes-since=2027-01-01T00:00:00Z")).toEqual([]);
    const wrong = await world.ask({ url: "/compute/v2.1/os-migrations?marker=x", version: 59 });
    expect([wrong.status, wrong.message]).toEqual([400, "Marker x could not be found."]);
    expect((await world.ask({ url: "/compute/v2.1/os-migrations?user_id=x", version: 79 })).status).toBe(400);
  });

  test("of a server are listed while a live migration is in progress", async () => {
    const [running, done] = [live(), live("completed")];
    const get = (migration: typeof running, path = "", version = 23) =>
      world.ask({ url: `/compute/v2.1/servers/${migration.instanceUuid}/migrations${path}`, version });
    expect((await get(running, "", 22)).status).toBe(404);
    expect((await get(running)).json("migrations")).toMatchObject([
      { memory_total_bytes: 512, server_uuid: running.instanceUuid },
    ]);
    expect((await get(done)).json("migrations")).toEqual([]);
    expect((await get(running, `/${running.id}`)).json("migration", "id")).toBe(running.id);
    expect((await get(done, `/${done.id}`)).message).toMatch(/is not in progress/);
    expect((await get(done, `/${running.id}`)).message).toMatch(/^In-progress live migration \d+ is not found/);
  });
});
