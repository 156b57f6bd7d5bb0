import { beforeEach, describe, expect, test } from "vitest";
import { withAccessRules } from "../../../../src/control-plane/identity/application-credentials.js";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;
let ada: string;
let project: string;
let token: string;

beforeEach(async () => {
  world = await IdentityWorld.open();
  ada = await world.user("ada");
  project = await world.make("project", { name: "p" });
  await world.grant(`projects/${project}`, `users/${ada}`, "member");
  token = await world.token(ada, { project: { id: project } });
});

interface Made {
  readonly id: string;
  readonly secret: string;
  readonly access_rules: readonly { readonly id: string }[];
}

async function made(members: object = {}): Promise<Made> {
  const body = { application_credential: { name: "ci", ...members } };
  const reply = await world.ask("POST", `users/${ada}/application_credentials`, body, token);
  return reply.json("application_credential") as Made;
}

function login(ref: object, scope?: unknown) {
  const identity = { methods: ["application_credential"], application_credential: ref };
  return world.ask("POST", "auth/tokens", { auth: { identity, ...(scope === undefined ? {} : { scope }) } }, "");
}

test("authenticates a program with the user's roles in the project", async () => {
  const { id, secret } = await made();
  const reply = await login({ id, secret });
  expect(reply.json("token", "application_credential")).toEqual({ id, name: "ci", restricted: true });
  expect(world.validate(reply.headers["x-subject-token"] ?? "")).toMatchObject({
    userId: ada,
    projectId: project,
    roles: ["reader", "member"],
  });
  expect((await login({ name: "ci", user: { id: ada }, secret })).status).toBe(201);
  expect((await login({ id, secret: "wrong" })).status).toBe(401);
  expect((await login({ id, secret }, { project: { id: project } })).status).toBe(401);
});

test("is returned without its secret, which is stored as a digest", async () => {
  const { id, secret } = await made({ secret: "hidden" });
  expect(secret).toBe("hidden");
  const reply = await world.ask("GET", `users/${ada}/application_credentials/${id}`, undefined, token);
  expect(reply.body).not.toContain("hidden");
  const { database } = world.api.store;
  const stored = [
    database.all("SELECT * FROM identity_application_credentials"),
    database.all("SELECT * FROM identity_passwords"),
  ];
  expect(JSON.stringify(stored)).not.toContain("hidden");
});

test("passes on the roles that it names, but none that its creator lacks", async () => {
  const { id, secret } = await made({ roles: [{ name: "reader" }] });
  const reply = await login({ id, secret });
  expect(world.validate(reply.headers["x-subject-token"] ?? "")?.roles).toEqual(["reader"]);
  const body = { application_credential: { name: "more", roles: [{ name: "admin" }] } };
  expect(await world.getRejection("POST", `users/${ada}/application_credentials`, body, token)).toEqual([
    400,
    "Invalid application credential: Cannot create an application credential with unassigned role",
  ]);
});

describe("ends together with its tokens", () => {
  let by: { id: string; token: string };

  beforeEach(async () => {
    const { id, secret } = await made();
    by = { id, token: (await login({ id, secret })).headers["x-subject-token"] ?? "" };
  });

  test("when it is deleted", async () => {
    const path = `users/${ada}/application_credentials/${by.id}`;
    expect((await world.ask("DELETE", path, undefined, token)).status).toBe(204);
    expect(world.validate(by.token)).toBeUndefined();
  });

  test("with the role", async () => {
    await world.grant(`projects/${project}`, `users/${ada}`, "member", "DELETE");
    expect(world.validate(by.token)).toBeUndefined();
    await world.grant(`projects/${project}`, `users/${ada}`, "member");
    expect((await world.ask("GET", `users/${ada}/application_credentials`)).json("application_credentials")).toEqual(
      [],
    );
  });
});

test("expires at its time", async () => {
  const expires = new Date(world.api.world.now + 60_000).toISOString().replace("Z", "123");
  const { id, secret } = await made({ expires_at: expires });
  const reply = await login({ id, secret });
  expect(reply.json("token", "expires_at")).toBe(`${expires.slice(0, 23)}000Z`);
  await world.api.world.advance(60_000);
  expect((await login({ id, secret })).status).toBe(401);
  const past = { application_credential: { name: "late", expires_at: expires } };
  const renewed = await world.token(ada, { project: { id: project } });
  expect((await world.getRejection("POST", `users/${ada}/application_credentials`, past, renewed))[0]).toBe(400);
});

test("manages others only when unrestricted, and cannot be exchanged for another scope", async () => {
  for (const [unrestricted, status] of [
    [false, 403],
    [true, 201],
  ] as const) {
    const { id, secret } = await made({ name: `ci ${unrestricted}`, unrestricted });
    const delegated = (await login({ id, secret })).headers["x-subject-token"] ?? "";
    const body = { application_credential: { name: `another ${unrestricted}` } };
    const reply = await world.ask("POST", `users/${ada}/application_credentials`, body, delegated);
    expect(reply.status).toBe(status);
    const exchange = { auth: { identity: { methods: ["token"], token: { id: delegated } }, scope: "unscoped" } };
    expect((await world.ask("POST", "auth/tokens", exchange, "")).status).toBe(403);
  }
});

test("can be created only by its user, and is visible only to its user", async () => {
  const eve = await world.user("eve");
  const { id } = await made();
  const body = { application_credential: { name: "hers" } };
  expect((await world.getRejection("POST", `users/${eve}/application_credentials`, body, token))[0]).toBe(403);
  const eves = await world.token(eve);
  expect((await world.getRejection("GET", `users/${eve}/application_credentials/${id}`, undefined, eves))[0]).toBe(403);
});

test("with access rules permits only the requests that they name", async () => {
  const access_rules = [
    { service: "compute", method: "GET", path: "/v2.1/servers/*/ips" },
    { service: "image", method: "GET", path: "/v2/**" },
  ];
  const { id, secret, access_rules: rules } = await made({ access_rules });
  const limited = (await login({ id, secret })).headers["x-subject-token"] ?? "";
  const { services, identity } = world.api.apis;
  const guarded = withAccessRules(services, identity.accessRules);
  const ask = async (mount: string, path: string, method = "GET", authToken = limited) => {
    const request = { method, path, query: "", headers: { "x-auth-token": authToken }, body: "" };
    return (await guarded[mount]?.({ ...request, baseUrl: `http://127.0.0.1:8774${mount}` }))?.status;
  };
  expect(await ask("/compute", "/v2.1/servers/1/ips")).toBe(404);
  expect(await ask("/compute", "/v2.1/servers/1/2/ips")).toBe(401);
  expect(await ask("/compute", "/v2.1/servers/1/ips", "DELETE")).toBe(401);
  expect(await ask("/image", "/v2/images")).toBe(200);
  expect(await ask("/identity", "/v3/auth/projects")).toBe(401);
  expect(await ask("/identity", "/v3/auth/projects", "GET", token)).toBe(200);
  const path = `users/${ada}/access_rules/${rules[0]?.id}`;
  expect((await world.getRejection("DELETE", path, undefined, token))[0]).toBe(403);
  await world.ask("DELETE", `users/${ada}/application_credentials/${id}`, undefined, token);
  expect((await world.ask("DELETE", path, undefined, token)).status).toBe(204);
});

test("with access rules that are expensive to match is checked quickly", async () => {
  const access_rules = [
    { service: "image", method: "GET", path: `/${"**a".repeat(30)}` },
    { service: "image", method: "GET", path: "/v2/(images)+\\E.json" },
  ];
  const { id, secret } = await made({ access_rules });
  const limited = (await login({ id, secret })).headers["x-subject-token"] ?? "";
  const { services, identity } = world.api.apis;
  const image = withAccessRules(services, identity.accessRules)["/image"];
  const ask = async (path: string) => {
    const request = { method: "GET", path, query: "", headers: { "x-auth-token": limited }, body: "" };
    return (await image?.({ ...request, baseUrl: "http://127.0.0.1:8774/image" }))?.status;
  };
  // JavaScript's own regular expressions would backtrack exponentially here.
  expect(await ask(`/${"a".repeat(4000)}b`)).toBe(401);
  expect(await ask("/v2/(images)+\\E.json")).toBe(404);
  expect(await ask("/v2/imagesimages\\Ejson")).toBe(401);
});
