import { beforeEach, describe, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;
let ada: string;
let project: string;

beforeEach(async () => {
  world = await IdentityWorld.open();
  ada = await world.user("ada");
  project = await world.make("project", { name: "p" });
});

const inProject = () => ({ project: { id: project } });

test("a role in a project permits tokens for it, and removing the role ends them", async () => {
  expect((await world.login(ada, inProject())).status).toBe(401);
  expect((await world.grant(`projects/${project}`, `users/${ada}`, "member")).status).toBe(204);
  expect((await world.grant(`projects/${project}`, `users/${ada}`, "member", "HEAD")).status).toBe(204);
  const token = await world.token(ada, inProject());
  expect(world.validate(token)).toMatchObject({ projectId: project, roles: ["reader", "member"] });
  expect(await world.names(`users/${ada}/projects`)).toEqual(["p"]);
  expect((await world.grant(`projects/${project}`, `users/${ada}`, "member", "DELETE")).status).toBe(204);
  expect(world.validate(token)).toBeUndefined();
  const again = await world.grant(`projects/${project}`, `users/${ada}`, "member", "DELETE");
  expect([again.status, again.message]).toEqual([
    404,
    `Could not find role assignment with role: ${await world.roleId("member")}, user or group: ${ada}, project, domain, or system: ${project}.`,
  ]);
});

test("everything that a grant names must exist", async () => {
  const role = await world.roleId("member");
  expect(await world.getRejection("PUT", `projects/nope/users/${ada}/roles/${role}`)).toEqual([
    404,
    "Could not find project: nope.",
  ]);
  expect(await world.getRejection("PUT", `projects/${project}/users/nope/roles/${role}`)).toEqual([
    404,
    "Could not find user: nope.",
  ]);
  expect(await world.getRejection("PUT", `projects/${project}/users/${ada}/roles/nope`)).toEqual([
    404,
    "Could not find role: nope.",
  ]);
});

test("a group's role is its members'", async () => {
  const group = await world.make("group", { name: "devs" });
  await world.grant(`projects/${project}`, `groups/${group}`, "reader");
  expect((await world.ask("PUT", `groups/${group}/users/${ada}`)).status).toBe(204);
  expect((await world.ask("HEAD", `groups/${group}/users/${ada}`)).status).toBe(204);
  expect(await world.names(`groups/${group}/users`)).toEqual(["ada"]);
  expect(await world.names(`users/${ada}/groups`)).toEqual(["devs"]);
  const token = await world.token(ada, inProject());
  expect(world.validate(token)?.roles).toEqual(["reader"]);
  await world.ask("DELETE", `groups/${group}/users/${ada}`);
  expect(world.validate(token)).toBeUndefined();
  expect((await world.ask("HEAD", `groups/${group}/users/${ada}`)).status).toBe(404);
});

describe("scopes", () => {
  test("a domain", async () => {
    await world.grant("domains/default", `users/${ada}`, "admin");
    const reply = await world.login(ada, { domain: { name: "Default" } });
    expect(reply.json("token", "domain")).toEqual({ id: "default", name: "Default" });
    const token = reply.headers["x-subject-token"] ?? "";
    expect(world.validate(token)).toMatchObject({ projectId: null, domainScope: "default", roles: [] });
    expect(await world.names("auth/domains", token)).toEqual(["Default"]);
  });

  test("the system; its readers cannot change anything", async () => {
    await world.grant("system", `users/${ada}`, "reader");
    const token = await world.token(ada, { system: { all: true } });
    expect(world.validate(token)).toMatchObject({ systemScope: "all", roles: ["reader"] });
    expect((await world.ask("GET", "users", undefined, token)).status).toBe(200);
    expect((await world.ask("POST", "users", { user: { name: "x" } }, token)).status).toBe(403);
  });

  test("a domain's reader can read only what is in the domain", async () => {
    const domain = await world.make("domain", { name: "d" });
    await world.user("eve", { domain_id: domain });
    await world.grant(`domains/${domain}`, `users/${ada}`, "reader");
    const token = await world.token(ada, { domain: { id: domain } });
    expect(await world.names("users", token)).toEqual(["eve"]);
    expect((await world.ask("GET", `users/${ada}`, undefined, token)).status).toBe(200);
    expect((await world.ask("GET", `projects/${project}`, undefined, token)).status).toBe(403);
  });

  test("the default project is the scope if none is requested", async () => {
    await world.grant(`projects/${project}`, `users/${ada}`, "member");
    await world.ask("PATCH", `users/${ada}`, { user: { default_project_id: project } });
    expect((await world.login(ada)).json("token", "project", "name")).toBe("p");
    expect(Object.keys((await world.login(ada, "unscoped")).json("token") as object)).not.toContain("project");
    await world.ask("PATCH", `projects/${project}`, { project: { enabled: false } });
    expect(Object.keys((await world.login(ada)).json("token") as object)).not.toContain("project");
  });

  test("a disabled default project is ignored", async () => {
    await world.grant(`projects/${project}`, `users/${ada}`, "member");
    const token = await world.token(ada, inProject());
    await world.ask("PATCH", `projects/${project}`, { project: { enabled: false } });
    expect(world.validate(token)).toBeUndefined();
    expect((await world.login(ada, inProject())).status).toBe(401);
    expect(await world.names("auth/projects", await world.token(ada))).toEqual([]);
  });
});

test("an inherited role applies to the projects below, not to its target", async () => {
  const child = await world.make("project", { name: "child", parent_id: project });
  const role = await world.roleId("member");
  const path = `OS-INHERIT/projects/${project}/users/${ada}/roles`;
  expect((await world.ask("PUT", `${path}/${role}/inherited_to_projects`)).status).toBe(204);
  expect((await world.ask("GET", `${path}/inherited_to_projects`)).json("roles")).toMatchObject([{ name: "member" }]);
  expect((await world.login(ada, inProject())).status).toBe(401);
  expect((await world.login(ada, { project: { id: child } })).status).toBe(201);
  const effective = await world.ask("GET", `role_assignments?effective&user.id=${ada}&role.id=${role}`);
  expect(effective.json("role_assignments")).toEqual([
    {
      user: { id: ada },
      role: { id: role },
      scope: { project: { id: child }, "OS-INHERIT:inherited_to": "projects" },
      links: { assignment: `http://127.0.0.1:8774/identity/v3/${path}/${role}/inherited_to_projects` },
    },
  ]);
});

test.each([
  ["scope.project.id=a&scope.domain.id=b", "Specify a domain or project, not both"],
  ["user.id=a&group.id=b", "Specify a user or group, not both"],
  ["effective&group.id=a", "Combining effective and group filter will always result in an empty list."],
])("role assignments cannot be asked for by %s", async (query, message) => {
  expect(await world.getRejection("GET", `role_assignments?${query}`)).toEqual([400, message]);
});

describe("roles", () => {
  test("imply others transitively", async () => {
    const prior = await world.make("role", { name: "operator" });
    const member = await world.roleId("member");
    expect((await world.ask("PUT", `roles/${prior}/implies/${member}`)).status).toBe(201);
    await world.grant(`projects/${project}`, `users/${ada}`, "operator");
    const token = await world.token(ada, inProject());
    expect(world.validate(token)?.roles).toEqual(["reader", "member", "operator"]);
    expect((await world.ask("HEAD", `roles/${prior}/implies/${member}`)).status).toBe(204);
    await world.ask("DELETE", `roles/${prior}/implies/${member}`);
    expect(world.validate(token)?.roles).toEqual(["operator"]);
    expect((await world.ask("GET", `roles/${prior}/implies/${member}`)).status).toBe(404);
  });

  test("cannot imply admin, or a role that implies them", async () => {
    const [reader, member, admin] = await Promise.all(["reader", "member", "admin"].map((name) => world.roleId(name)));
    expect(await world.getRejection("PUT", `roles/${reader}/implies/${admin}`)).toEqual([
      403,
      `${admin} cannot be an implied roles.`,
    ]);
    expect((await world.getRejection("PUT", `roles/${reader}/implies/${member}`))[0]).toBe(403);
  });

  test("of a domain are not in tokens", async () => {
    const role = await world.make("role", { name: "local", domain_id: "default" });
    expect(await world.names("roles")).not.toContain("local");
    expect(await world.names("roles?domain_id=default")).toEqual(["local"]);
    await world.ask("PUT", `projects/${project}/users/${ada}/roles/${role}`);
    expect((await world.login(ada, inProject())).status).toBe(401);
  });

  test("are revoked everywhere when deleted", async () => {
    const role = await world.make("role", { name: "passing" });
    await world.ask("PUT", `projects/${project}/users/${ada}/roles/${role}`);
    const token = await world.token(ada, inProject());
    await world.ask("DELETE", `roles/${role}`);
    expect(world.validate(token)).toBeUndefined();
    expect((await world.ask("GET", `role_assignments?user.id=${ada}`)).json("role_assignments")).toEqual([]);
  });
});
