import { beforeEach, describe, expect, test } from "vitest";
import { createIdentity } from "../../../../src/control-plane/identity/identity.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
});

test("a user is created, found, changed and deleted; no response has the password", async () => {
  const made = await world.ask("POST", "users", { user: { name: "ada", password: "secret", email: "a@b" } });
  const id = made.json("user", "id") as string;
  expect(made.json("user")).toEqual({
    id,
    name: "ada",
    email: "a@b",
    domain_id: "default",
    enabled: true,
    password_expires_at: null,
    options: {},
    links: { self: `http://127.0.0.1:8774/identity/v3/users/${id}` },
  });
  expect(await world.names("users?name=ada")).toEqual(["ada"]);
  await world.ask("PATCH", `users/${id}`, { user: { name: "grace" } });
  expect((await world.ask("GET", `users/${id}`)).json("user", "name")).toBe("grace");
  expect(await world.getRejection("PATCH", `users/${id}`, { user: { domain_id: "x" } })).toEqual([
    400,
    "Cannot change Domain ID",
  ]);
  expect((await world.ask("DELETE", `users/${id}`)).status).toBe(204);
  expect(await world.getRejection("GET", `users/${id}`)).toEqual([404, `Could not find user: ${id}.`]);
});

test("a name is unique in a domain, which must exist", async () => {
  expect(await world.getRejection("POST", "users", { user: { name: "admin" } })).toEqual([
    409,
    "Conflict occurred attempting to store user - Duplicate entry found with name admin at domain ID default.",
  ]);
  expect(await world.getRejection("POST", "users", { user: { name: "x", domain_id: "nope" } })).toEqual([
    404,
    "Could not find domain: nope.",
  ]);
});

test("users can read only themselves", async () => {
  const [ada, eve] = [await world.user("ada"), await world.user("eve")];
  const token = await world.token(ada);
  expect((await world.ask("GET", `users/${ada}`, undefined, token)).status).toBe(200);
  expect((await world.ask("GET", `users/${ada}/projects`, undefined, token)).status).toBe(200);
  expect((await world.ask("GET", `users/${eve}`, undefined, token)).status).toBe(403);
  expect((await world.ask("GET", `users/${eve}/projects`, undefined, token)).status).toBe(403);
});

describe("passwords", () => {
  test("are changed with the old password, which ends all tokens", async () => {
    const id = await world.user("ada");
    const token = await world.token(id);
    const change = (original_password: string) =>
      world.ask("POST", `users/${id}/password`, { user: { original_password, password: "new" } }, "");
    expect((await change("wrong")).status).toBe(401);
    expect(world.validate(token)).toBeDefined();
    expect((await change("secret")).status).toBe(204);
    expect(world.validate(token)).toBeUndefined();
    expect((await world.login(id, undefined, "secret")).status).toBe(401);
    expect((await world.login(id, undefined, "new")).status).toBe(201);
  });

  test("are set and removed by an administrator", async () => {
    const id = await world.user("ada");
    await world.login(id);
    await world.ask("PATCH", `users/${id}`, { user: { password: "new" } });
    expect((await world.login(id)).status).toBe(401);
    expect((await world.login(id, undefined, "new")).status).toBe(201);
    await world.ask("PATCH", `users/${id}`, { user: { password: null } });
    expect((await world.login(id, undefined, "new")).status).toBe(401);
  });

  test("are stored as slow digests only, and checked after a restart", async () => {
    const id = await world.user("ada");
    const { store, runtime } = world.api;
    const [salt, digest, scheme] =
      store.database.get("SELECT salt, digest, scheme FROM identity_passwords WHERE user_id = ?", id) ?? [];
    expect(scheme).toBe("scrypt");
    expect(digest).toBe(await quickDigests.scrypt("secret", String(salt)));
    expect(JSON.stringify(store.database.all("SELECT body FROM identity_users"))).not.toContain("secret");
    const again = createIdentity({ ...runtime, sql: store.database, digests: quickDigests });
    expect(await again.ensurePassword("ada", "secret")).toBe("secret");
  });

  test("are not hashed again shortly after a successful check, until they change", async () => {
    let hashed = 0;
    const digests = {
      ...quickDigests,
      scrypt: (password: string, salt: string) => {
        hashed += 1;
        return quickDigests.scrypt(password, salt);
      },
    };
    await world.user("ada");
    const { store, runtime, world: time } = world.api;
    const identity = createIdentity({ ...runtime, sql: store.database, digests });
    await identity.ensurePassword("ada", "secret");
    await identity.ensurePassword("ada", "secret");
    expect(hashed).toBe(1);
    await time.advance(300_000);
    await identity.ensurePassword("ada", "secret");
    expect(hashed).toBe(2);
    expect(await identity.ensurePassword("ada", "guessed")).not.toBe("guessed");
  });
});

test.each([
  ["the user", "users"],
  ["the domain", "domains"],
])("a token ends with %s's being disabled, and does not come back", async (_name, plural) => {
  const domain = await world.make("domain", { name: "d" });
  const id = await world.user("ada", { domain_id: domain });
  const path = plural === "users" ? `users/${id}` : `domains/${domain}`;
  const token = await world.token(id);
  expect(world.validate(token)).toMatchObject({ userName: "ada", domainId: domain });
  const enable = (enabled: boolean) => world.ask("PATCH", path, { [plural.slice(0, -1)]: { enabled } });
  await enable(false);
  expect(world.validate(token)).toBeUndefined();
  expect((await world.login(id)).status).toBe(401);
  await enable(true);
  expect(world.validate(token)).toBeUndefined();
  expect((await world.login(id)).status).toBe(201);
});

test("a deleted user leaves no usable credentials", async () => {
  const id = await world.user("ada");
  const token = await world.token(id);
  await world.grant(`projects/${world.api.projectId("demo")}`, `users/${id}`, "member");
  await world.ask("DELETE", `users/${id}`);
  expect(world.validate(token)).toBeUndefined();
  for (const [table, column] of [
    ["identity_passwords", "user_id"],
    ["identity_tokens", "user_id"],
    ["identity_grants", "actor_id"],
  ]) {
    const rows = world.api.store.database.all(`SELECT 1 FROM ${table} WHERE ${column} = ?`, id);
    expect(rows, table).toEqual([]);
  }
});
