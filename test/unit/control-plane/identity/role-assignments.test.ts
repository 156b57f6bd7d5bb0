import { beforeEach, expect, test } from "vitest";
import { ApiWorld } from "../compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

interface Assignment {
  readonly user: { readonly id: string; readonly name?: string; readonly domain?: unknown };
  readonly role: { readonly name?: string };
  readonly scope: { readonly project?: { readonly name?: string }; readonly system?: unknown };
  readonly links: { readonly assignment: string };
}

async function list(query = "") {
  const reply = await world.ask({ url: `/identity/v3/role_assignments?include_names&${query}` });
  return reply.json("role_assignments") as Assignment[];
}

test("role assignments", async () => {
  const assignments = (await list()).map(
    ({ user, role, scope }) => `${user.name} ${role.name} ${scope.project?.name ?? "system"}`,
  );
  expect(assignments).toEqual([
    "admin reader admin",
    "admin member admin",
    "admin admin admin",
    "admin reader system",
    "admin member system",
    "admin admin system",
    "demo reader demo",
    "demo member demo",
    "nova admin service",
    "nova service service",
    "placement admin service",
    "placement service service",
  ]);
});

test("of one project, of one user, of the system, without names", async () => {
  const demo = world.projectId("demo");
  const found = await list(`scope.project.id=${demo}`);
  expect(found).toHaveLength(2);
  const user = found[0]?.user.id ?? "";
  expect(await list(`user.id=${user}`)).toEqual(found);
  expect(await list("scope.system=all")).toHaveLength(3);
  const reply = await world.ask({ url: `/identity/v3/role_assignments?user.id=${user}` });
  expect((reply.json("role_assignments") as Assignment[])[0]).toEqual({
    user: { id: user },
    role: { id: expect.any(String) },
    scope: { project: { id: demo } },
    links: { assignment: expect.stringContaining(`/v3/projects/${demo}/users/${user}/roles/`) },
  });
});
