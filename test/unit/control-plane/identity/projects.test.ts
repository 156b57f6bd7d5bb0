import { beforeEach, describe, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
});

test("a project is created, changed and deleted, and stores additional members", async () => {
  const made = await world.ask("POST", "projects", { project: { name: "p", email: "a@b" } });
  const id = made.json("project", "id") as string;
  expect(made.json("project")).toEqual({
    id,
    name: "p",
    email: "a@b",
    domain_id: "default",
    parent_id: "default",
    description: "",
    enabled: true,
    is_domain: false,
    tags: [],
    options: {},
    links: { self: `http://127.0.0.1:8774/identity/v3/projects/${id}` },
  });
  expect(world.api.apis.identity.hasProject(id)).toBe(true);
  const changed = await world.ask("PATCH", `projects/${id}`, { project: { name: "q", enabled: false } });
  expect(changed.json("project")).toMatchObject({ name: "q", enabled: false, email: "a@b" });
  expect((await world.ask("DELETE", `projects/${id}`)).status).toBe(204);
  expect(await world.getRejection("GET", `projects/${id}`)).toEqual([404, `Could not find project: ${id}.`]);
  expect(world.api.apis.identity.hasProject(id)).toBe(false);
});

test.each([
  [{}, "'name' is a required property"],
  [{ name: "" }, "Invalid input for field 'name': '' is too short"],
  [{ name: 5 }, "Invalid input for field 'name': 5 is not of type 'string'"],
  [{ name: "p", enabled: "yes" }, "Invalid input for field 'enabled': 'yes' is not of type 'boolean'"],
  [{ name: "p", description: 1 }, "Invalid input for field 'description': 1 is not of type 'string', 'null'"],
  [{ name: "p", tags: ["a", "a"] }, "Invalid input for field 'tags': ['a', 'a'] has non-unique elements"],
  [{ name: "p", domain_id: "nope" }, "Could not find domain: nope."],
  [{ name: "p", parent_id: "nope" }, "Could not find project: nope."],
])("%j is refused as Keystone refuses it", async (project, message) => {
  expect(await world.getRejection("POST", "projects", { project })).toEqual([400, message]);
});

test("a name is unique in a domain", async () => {
  const id = world.api.projectId("demo");
  expect(await world.getRejection("POST", "projects", { project: { name: "demo" } })).toEqual([
    409,
    `Conflict occurred attempting to store project - it is not permitted to have two projects with either the same name or same id in the same domain: name is demo, project id ${id}.`,
  ]);
  const domain = await world.make("domain", { name: "other" });
  await world.make("project", { name: "demo", domain_id: domain });
});

describe("a hierarchy", () => {
  let parent: string;
  let child: string;

  beforeEach(async () => {
    parent = await world.make("project", { name: "parent" });
    child = await world.make("project", { name: "child", parent_id: parent });
  });

  test("is returned as parents and as subtree", async () => {
    const up = await world.ask("GET", `projects/${child}?parents_as_ids`);
    expect(up.json("project", "parents")).toEqual({ [parent]: { default: null } });
    const down = await world.ask("GET", `projects/${parent}?subtree_as_ids`);
    expect(down.json("project", "subtree")).toEqual({ [child]: null });
  });

  test("cannot be split or moved", async () => {
    expect((await world.getRejection("DELETE", `projects/${parent}`))[0]).toBe(403);
    expect(await world.getRejection("PATCH", `projects/${parent}`, { project: { enabled: false } })).toEqual([
      403,
      `Cannot disable project ${parent} since its subtree contains enabled projects.`,
    ]);
    expect(await world.getRejection("PATCH", `projects/${child}`, { project: { parent_id: "default" } })).toEqual([
      403,
      "Update of `parent_id` is not allowed.",
    ]);
  });

  test("is five levels deep at most", async () => {
    let last = child;
    for (const name of ["third", "fourth"]) {
      last = await world.make("project", { name, parent_id: last });
    }
    const rejection = await world.getRejection("POST", "projects", { project: { name: "fifth", parent_id: last } });
    expect(rejection).toEqual([403, `Max hierarchy depth reached for ${last} branch.`]);
  });
});

test("tags are set, found and removed", async () => {
  const id = await world.make("project", { name: "p", tags: ["a"] });
  expect((await world.ask("PUT", `projects/${id}/tags/b`)).status).toBe(201);
  expect((await world.ask("GET", `projects/${id}/tags`)).json("tags")).toEqual(["a", "b"]);
  expect(await world.names("projects?tags=a,b")).toEqual(["p"]);
  expect(await world.names("projects?tags=a,c")).toEqual([]);
  expect(await world.names("projects?not-tags-any=a,c")).toEqual(["admin", "demo", "service"]);
  expect((await world.ask("DELETE", `projects/${id}/tags/a`)).status).toBe(204);
  expect((await world.ask("GET", `projects/${id}/tags/a`)).status).toBe(404);
  await world.ask("PUT", `projects/${id}/tags`, { tags: ["x"] });
  expect((await world.ask("DELETE", `projects/${id}/tags`)).status).toBe(204);
  expect((await world.ask("GET", `projects/${id}`)).json("project", "tags")).toEqual([]);
});

test("lists are filtered, compared and paged", async () => {
  await world.make("project", { name: "Demolition", enabled: false });
  expect(await world.names("projects?enabled=false")).toEqual(["Demolition"]);
  expect(await world.names("projects?name__icontains=demo")).toEqual(["demo", "Demolition"]);
  expect(await world.names("projects?name__startswith=demo")).toEqual(["demo"]);
  const page = await world.ask("GET", "projects?limit=3");
  expect(page.json("truncated")).toBe(true);
  expect(page.json("projects")).toHaveLength(3);
  const next = String(page.json("links", "next")).split("/v3/")[1] ?? "";
  expect(await world.names(next)).toEqual(["Demolition"]);
});

test("an immutable project can only be changed by clearing the option", async () => {
  const id = await world.make("project", { name: "p", options: { immutable: true } });
  expect((await world.getRejection("DELETE", `projects/${id}`))[0]).toBe(403);
  expect((await world.getRejection("PATCH", `projects/${id}`, { project: { name: "q" } }))[0]).toBe(403);
  await world.ask("PATCH", `projects/${id}`, { project: { options: { immutable: false } } });
  expect((await world.ask("DELETE", `projects/${id}`)).status).toBe(204);
});
