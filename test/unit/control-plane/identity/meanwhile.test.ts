import { beforeEach, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

// Each test starts a request that hashes a password, and sends another one before the hash is computed.

let world: IdentityWorld;
let ada: string;

beforeEach(async () => {
  world = await IdentityWorld.open();
  ada = await world.user("ada");
});

test.each([
  ["its password was taken away", () => world.ask("PATCH", `users/${ada}`, { user: { password: null } })],
  ["it was disabled", () => world.ask("PATCH", `users/${ada}`, { user: { enabled: false } })],
  ["it was deleted", () => world.ask("DELETE", `users/${ada}`)],
])("nobody gets a token of a user when meanwhile %s", async (_name, meanwhile) => {
  const login = world.login(ada);
  expect((await meanwhile()).status).toBeLessThan(300);
  expect((await login).status).toBe(401);
});

test("concurrent changes with the same old password succeed only once", async () => {
  const change = (password: string) =>
    world.ask("POST", `users/${ada}/password`, { user: { original_password: "secret", password } }, "");
  const replies = await Promise.all([change("first"), change("second")]);
  expect(replies.map(({ status }) => status).sort()).toEqual([204, 401]);
  const changed = replies[0]?.status === 204 ? "first" : "second";
  expect((await world.login(ada, undefined, changed)).status).toBe(201);
});

test("a token that is revoked meanwhile cannot create or change users", async () => {
  const admin = await world.adminToken({ project: { name: "admin", domain: { id: "default" } } });
  const made = world.ask("POST", "users", { user: { name: "eve", password: "secret" } }, admin);
  const changed = world.ask("PATCH", `users/${ada}`, { user: { password: "guessed" } }, admin);
  const revoked = await world.api.ask({
    method: "DELETE",
    url: "/identity/v3/auth/tokens",
    token: admin,
    headers: { "x-subject-token": admin },
  });
  expect(revoked.status).toBe(204);
  expect([(await made).status, (await changed).status]).toEqual([401, 401]);
  expect(await world.names("users?name=eve")).toEqual([]);
  expect((await world.login(ada)).status).toBe(201);
});

test("a user is not created in a domain that is deleted meanwhile", async () => {
  const domain_id = await world.make("domain", { name: "d", enabled: false });
  const made = world.ask("POST", "users", { user: { name: "eve", password: "secret", domain_id } });
  expect((await world.ask("DELETE", `domains/${domain_id}`)).status).toBe(204);
  expect((await made).status).toBe(404);
  expect(await world.names("users?name=eve")).toEqual([]);
});

test("a revoked token cannot create an application credential", async () => {
  const project = world.api.projectId("demo");
  await world.grant(`projects/${project}`, `users/${ada}`, "member");
  const token = await world.token(ada, { project: { id: project } });
  const body = { application_credential: { name: "ci" } };
  const made = world.ask("POST", `users/${ada}/application_credentials`, body, token);
  await world.ask("PATCH", `users/${ada}`, { user: { password: null } });
  expect((await made).status).toBe(401);
  expect(await world.names(`users/${ada}/application_credentials`)).toEqual([]);
});
