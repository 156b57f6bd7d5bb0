import { beforeEach, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let demo: string;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.flavor({ flavorid: "9", name: "m1.private", isPublic: false });
  demo = world.projectId("demo");
});

function change(body: unknown, options: { readonly flavor?: string; readonly version?: number } = {}) {
  return world.ask({
    method: "POST",
    url: `/compute/v2.1/flavors/${options.flavor ?? "9"}/action`,
    version: options.version,
    body,
  });
}
const allow = (tenant: string) => change({ addTenantAccess: { tenant } });

test("only projects with access see a private flavor", async () => {
  const token = await world.token("demo");
  const listed = async () => {
    const reply = await world.ask({ url: "/compute/v2.1/flavors", token });
    return (reply.json("flavors") as { id: string }[]).map(({ id }) => id);
  };
  const getFlavorStatus = async () => (await world.ask({ url: "/compute/v2.1/flavors/9", token })).status;
  const boot = async () => {
    const server = { name: "vm", flavorRef: "9", imageRef: CIRROS, networks: "none" };
    return (await world.ask({ method: "POST", url: "/compute/v2.1/servers", token, version: 37, body: { server } }))
      .status;
  };
  expect([await listed(), await getFlavorStatus(), await boot()]).toEqual([["1"], 404, 400]);
  expect((await allow(demo)).json("flavor_access")).toEqual([{ flavor_id: "9", tenant_id: demo }]);
  expect([await listed(), await getFlavorStatus(), await boot()]).toEqual([["1", "9"], 200, 202]);
  const access = await world.ask({ url: "/compute/v2.1/flavors/9/os-flavor-access" });
  expect(access.json("flavor_access")).toEqual([{ flavor_id: "9", tenant_id: demo }]);
  expect((await change({ removeTenantAccess: { tenant: demo } })).json("flavor_access")).toEqual([]);
  expect([await listed(), await getFlavorStatus(), await boot()]).toEqual([["1"], 404, 400]);
});

test("a server cannot be resized to a private flavor of another project", async () => {
  world.host("devstack1");
  const { uuid } = world.server("devstack1", { projectId: demo });
  const token = await world.token("demo");
  const resize = () =>
    world.ask({
      method: "POST",
      url: `/compute/v2.1/servers/${uuid}/action`,
      token,
      body: { resize: { flavorRef: "9" } },
    });
  expect((await resize()).message).toBe("Flavor 9 could not be found.");
  await allow(demo);
  expect((await resize()).status).toBe(202);
});

test("invalid changes of access are rejected", async () => {
  const toStatusAndMessage = async (reply: ReturnType<typeof change>) => [(await reply).status, (await reply).message];
  expect(await toStatusAndMessage(allow("nobody"))).toEqual([400, "Project ID nobody is not a valid project."]);
  expect(await toStatusAndMessage(change({ removeTenantAccess: { tenant: demo } }))).toEqual([
    404,
    `Flavor access not found for 9 / ${demo} combination.`,
  ]);
  await allow(demo);
  expect(await toStatusAndMessage(allow(demo))).toEqual([
    409,
    `Flavor access already exists for flavor 9 and project ${demo} combination.`,
  ]);
  const add = { addTenantAccess: { tenant: demo } };
  expect(await toStatusAndMessage(change(add, { flavor: "1", version: 7 }))).toEqual([
    409,
    "Can not add access to a public flavor.",
  ]);
  expect((await change(add, { flavor: "1", version: 6 })).status).toBe(200);
  expect((await change(add, { flavor: "none" })).status).toBe(404);
  expect((await change({ addTenantAccess: {} })).status).toBe(400);
  expect((await change({ other: {} })).status).toBe(400);
});

test("the access of a deleted project can be removed but not added", async () => {
  world.store.flavors.addProject("9", "deleted-project");
  const remove = { removeTenantAccess: { tenant: "deleted-project" } };
  expect((await change(remove)).json("flavor_access")).toEqual([]);
  expect((await change(remove)).message).toBe("Flavor access not found for 9 / deleted-project combination.");
});

test("a project's id may have any characters and is checked before the flavor", async () => {
  for (const tenant of ["a b", "fake_tenant", "x".repeat(255)]) {
    const reply = await change({ addTenantAccess: { tenant } }, { flavor: "none" });
    expect([reply.status, reply.message]).toEqual([400, `Project ID ${tenant} is not a valid project.`]);
  }
  expect((await allow("x".repeat(256))).message).toMatch(/is too long$/);
});

test("deleting a flavor deletes its access list", async () => {
  await allow(demo);
  world.store.flavors.destroy("9");
  world.flavor({ flavorid: "9", name: "m1.private", isPublic: false });
  expect(world.store.flavors.projects("9")).toEqual([]);
});
