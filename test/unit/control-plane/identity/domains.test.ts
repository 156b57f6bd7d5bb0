import { beforeEach, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
});

test("a disabled domain can be deleted, with everything in it", async () => {
  const domain = await world.make("domain", { name: "d" });
  const user = await world.user("ada", { domain_id: domain });
  const group = await world.make("group", { name: "g", domain_id: domain });
  const project = await world.make("project", { name: "p", domain_id: domain });
  expect(await world.getRejection("DELETE", `domains/${domain}`)).toEqual([
    403,
    "Cannot delete a domain that is enabled, please disable it first.",
  ]);
  await world.ask("PATCH", `domains/${domain}`, { domain: { enabled: false } });
  expect((await world.ask("DELETE", `domains/${domain}`)).status).toBe(204);
  for (const path of [`domains/${domain}`, `users/${user}`, `groups/${group}`, `projects/${project}`]) {
    expect((await world.ask("GET", path)).status, path).toBe(404);
  }
});

test("a domain is also a project, but cannot have servers", async () => {
  const domain = await world.make("project", { name: "d", is_domain: true, domain_id: null });
  expect(await world.names("domains")).toEqual(["Default", "d"]);
  expect(await world.names("projects")).not.toContain("d");
  expect(await world.names("projects?is_domain=true")).toEqual(["Default", "d"]);
  expect(world.api.apis.identity.hasProject(domain)).toBe(false);
  expect(await world.getRejection("POST", "domains", { domain: { name: "d" } })).toEqual([
    409,
    "Conflict occurred attempting to store project - it is not permitted to have two projects acting as domains with the same name: d.",
  ]);
});

test("users log in by the name of their domain", async () => {
  const domain = await world.make("domain", { name: "d" });
  await world.user("admin", { domain_id: domain });
  const login = (name: string) => {
    const user = { name: "admin", password: "secret", domain: { name } };
    const body = { auth: { identity: { methods: ["password"], password: { user } } } };
    return world.ask("POST", "auth/tokens", body, "");
  };
  expect((await login("d")).json("token", "user", "domain")).toEqual({ id: domain, name: "d" });
  expect((await login("Default")).status).toBe(401);
});

test("a domain's options are stored by group, and unknown ones rejected", async () => {
  const domain = await world.make("domain", { name: "d" });
  const path = `domains/${domain}/config`;
  expect((await world.ask("GET", path)).status).toBe(404);
  const config = { ldap: { url: "ldap://a" } };
  expect((await world.ask("PUT", path, { config })).status).toBe(201);
  await world.ask("PATCH", `${path}/ldap/url`, { config: { url: "ldap://b" } });
  expect((await world.ask("GET", `${path}/ldap/url`)).json("config")).toEqual({ url: "ldap://b" });
  expect((await world.ask("GET", "domains/config/identity/driver/default")).json("config")).toEqual({ driver: "sql" });
  expect(await world.getRejection("PATCH", path, { config: { ldap: { foo: 1 } } })).toEqual([
    403,
    "Invalid domain specific configuration: Option foo in group ldap is not supported for domain specific configurations.",
  ]);
  expect((await world.ask("DELETE", path)).status).toBe(204);
  expect((await world.ask("GET", `${path}/ldap`)).status).toBe(404);
});
