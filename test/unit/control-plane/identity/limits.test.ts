import { beforeEach, describe, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;
let image: string;
let project: string;
let system: string;

beforeEach(async () => {
  world = await IdentityWorld.open();
  const services = (await world.ask("GET", "services?name=glance")).json("services") as { readonly id: string }[];
  image = services[0]?.id ?? "";
  project = await world.make("project", { name: "p" });
  system = await world.adminToken({ system: { all: true } });
});

const REGION = "RegionOne";

function register(members: Record<string, unknown> = {}, token?: string) {
  const limit = { service_id: image, region_id: REGION, resource_name: "image_count_total", default_limit: 10 };
  return world.ask("POST", "registered_limits", { registered_limits: [{ ...limit, ...members }] }, token);
}

function limit(members: Record<string, unknown> = {}, token?: string) {
  const own = { service_id: image, region_id: REGION, resource_name: "image_count_total", resource_limit: 2 };
  return world.ask("POST", "limits", { limits: [{ project_id: project, ...own, ...members }] }, token);
}

async function idOf(reply: Promise<{ json(...path: string[]): unknown }>, plural: string): Promise<string> {
  return ((await reply).json(plural) as { readonly id: string }[])[0]?.id ?? "";
}

describe("registered limits", () => {
  test("are created, returned, listed, changed and deleted", async () => {
    const reply = await register({ description: "how many" });
    expect(reply.status).toBe(201);
    const [made] = reply.json("registered_limits") as Record<string, unknown>[];
    expect(made).toMatchObject({ service_id: image, region_id: REGION, default_limit: 10, description: "how many" });
    const path = `registered_limits/${made?.id}`;
    expect((await world.ask("GET", path)).json("registered_limit")).toEqual(made);
    expect((await world.ask("GET", "registered_limits?resource_name=other")).json("registered_limits")).toEqual([]);
    const changed = await world.ask("PATCH", path, { registered_limit: { default_limit: -1 } });
    expect(changed.json("registered_limit", "default_limit")).toBe(-1);
    expect((await world.ask("DELETE", path)).status).toBe(204);
    expect(await world.getRejection("GET", path)).toEqual([404, `Could not find registered limit for ${made?.id}.`]);
  });

  test("are unique by service, region and name; a request creates all or none", async () => {
    await register();
    expect((await register()).status).toBe(409);
    expect((await register({ region_id: null })).status).toBe(201);
    const both = [
      { service_id: image, resource_name: "new", default_limit: 1 },
      { service_id: image, region_id: REGION, resource_name: "image_count_total", default_limit: 1 },
    ];
    expect((await world.ask("POST", "registered_limits", { registered_limits: both })).status).toBe(409);
    expect((await world.ask("GET", "registered_limits?resource_name=new")).json("registered_limits")).toEqual([]);
  });

  test.each([
    [{ service_id: "nobody" }, "Expecting to find service_id in registered_limit."],
    [{ region_id: "nowhere" }, "Expecting to find region_id in registered_limit."],
    [{ default_limit: -2 }, "-2 is less than the minimum of -1"],
    [{ own: 1 }, "Additional properties are not allowed"],
  ])("%j is refused", async (members, message) => {
    const reply = await register(members);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("cannot be changed while a project's limit refers to them", async () => {
    const id = await idOf(register(), "registered_limits");
    await limit();
    const body = { registered_limit: { default_limit: 1 } };
    expect((await world.ask("PATCH", `registered_limits/${id}`, body)).status).toBe(403);
    expect((await world.ask("DELETE", `registered_limits/${id}`)).status).toBe(403);
  });

  test("outlive their service, and can be changed and deleted", async () => {
    const service = await world.make("service", { type: "own", name: "own" });
    const registered = await idOf(register({ service_id: service }), "registered_limits");
    const own = await idOf(limit({ service_id: service }), "limits");
    expect((await world.ask("DELETE", `services/${service}`)).status).toBe(204);
    const path = `registered_limits/${registered}`;
    expect((await world.ask("GET", path)).json("registered_limit", "service_id")).toBe(service);
    expect((await world.ask("GET", "limits", undefined, system)).json("limits")).toHaveLength(1);
    expect((await world.ask("DELETE", `limits/${own}`)).status).toBe(204);
    expect((await world.ask("PATCH", path, { registered_limit: { default_limit: 3 } })).status).toBe(200);
    expect((await world.ask("DELETE", path)).status).toBe(204);
  });
});

describe("limits of projects and domains", () => {
  test("the model is flat", async () => {
    expect((await world.ask("GET", "limits/model")).json("model", "name")).toBe("flat");
  });

  test("are created, returned with their registered limit, changed and deleted", async () => {
    await register();
    const [made] = (await limit()).json("limits") as Record<string, unknown>[];
    expect(made).toMatchObject({
      project_id: project,
      domain_id: null,
      service_id: image,
      region_id: REGION,
      resource_name: "image_count_total",
      resource_limit: 2,
    });
    const path = `limits/${made?.id}`;
    expect((await world.ask("GET", path)).json("limit")).toEqual(made);
    const changed = await world.ask("PATCH", path, { limit: { resource_limit: 0, description: "none" } });
    expect(changed.json("limit")).toEqual({ ...made, resource_limit: 0, description: "none" });
    expect((await world.ask("DELETE", path)).status).toBe(204);
    expect(await world.getRejection("GET", path)).toEqual([404, `Could not find limit for ${made?.id}.`]);
  });

  test("need a registered limit, are unique per project, and belong to a project or a domain", async () => {
    expect(await limit().then(({ status, message }) => [status, message])).toEqual([
      403,
      "Unable to create a limit that has no corresponding registered limit.",
    ]);
    await register();
    expect((await limit()).status).toBe(201);
    expect((await limit()).status).toBe(409);
    expect((await limit({ project_id: undefined })).status).toBe(400);
    expect((await limit({ domain_id: "default" })).status).toBe(400);
    expect((await limit({ project_id: "nobody" })).status).toBe(400);
    const [ofDomain] = (await limit({ project_id: "default" })).json("limits") as Record<string, unknown>[];
    expect(ofDomain).toMatchObject({ project_id: null, domain_id: "default" });
  });

  test("a token lists those of its project or domain, or all with system scope", async () => {
    await register();
    await limit();
    await limit({ project_id: undefined, domain_id: "default" });
    const other = await world.make("domain", { name: "other" });
    await limit({ project_id: undefined, domain_id: other });
    const user = await world.user("u");
    await world.grant(`projects/${project}`, `users/${user}`, "member");
    await world.grant("domains/default", `users/${user}`, "reader");
    const count = async (token: string) =>
      ((await world.ask("GET", "limits", undefined, token)).json("limits") as unknown[]).length;
    const member = await world.token(user, { project: { id: project } });
    expect(await count(member)).toBe(1);
    expect(await count(await world.token(user, { domain: { id: "default" } }))).toBe(2);
    expect(await count(system)).toBe(3);
    expect((await register({ resource_name: "x" }, member)).status).toBe(403);
    expect((await limit({ resource_limit: 9 }, member)).status).toBe(403);
    const id = await idOf(world.ask("GET", "limits", undefined, member), "limits");
    expect((await world.ask("GET", `limits/${id}`, undefined, member)).status).toBe(200);
    expect((await world.ask("PATCH", `limits/${id}`, { limit: { resource_limit: 9 } }, member)).status).toBe(403);
    const foreign = await world.make("project", { name: "q" });
    const strange = await idOf(limit({ project_id: foreign }), "limits");
    expect((await world.ask("GET", `limits/${strange}`, undefined, member)).status).toBe(403);
  });

  test("are deleted with their project", async () => {
    await register();
    await limit();
    expect((await world.ask("DELETE", `projects/${project}`)).status).toBe(204);
    expect((await world.ask("GET", "limits", undefined, system)).json("limits")).toEqual([]);
  });
});
