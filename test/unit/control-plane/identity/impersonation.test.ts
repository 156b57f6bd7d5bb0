import { beforeEach, expect, test } from "vitest";
import type { RecordedCaller } from "../../../../src/conductor-client/methods/cluster.js";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;
let other: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
  other = await IdentityWorld.open();
});

/** Returns the caller with a token of the first cluster, as a recording contains it. */
function recorded(token: string): RecordedCaller {
  const live = world.api.apis.identity.find(token);
  if (live === undefined) {
    throw new Error("the token is not valid");
  }
  return JSON.parse(JSON.stringify(world.api.apis.identity.callerOf(live)));
}

function impersonate(caller: RecordedCaller, placing = false) {
  return other.api.apis.identity.impersonations.impersonate(caller, placing);
}

async function member(): Promise<{ readonly ada: string; readonly project: string; readonly token: string }> {
  const ada = await world.user("ada");
  const project = await world.make("project", { name: "p" });
  await world.grant(`projects/${project}`, `users/${ada}`, "member");
  return { ada, project, token: await world.token(ada, { project: { id: project } }) };
}

test("a user of another cluster is created with project and roles, without a password", async () => {
  const { ada, project, token } = await member();
  const { token: issuedToken, made } = impersonate(recorded(token));
  expect(other.validate(issuedToken ?? "")).toMatchObject({
    userId: ada,
    projectId: project,
    roles: ["reader", "member"],
  });
  expect(made).toEqual(["user ada", "project p", "role reader of ada", "role member of ada"]);
  expect((await other.login(ada)).status).toBe(401);
  expect(impersonate(recorded(token)).made).toEqual([]);
});

test("existing records are found by name, and returned with their ids", async () => {
  const { token, ada } = await member();
  // Another user has the same id.
  expect(await other.user("zoe")).toBe(ada);
  const theirs = await other.user("ada");
  const { caller, made } = impersonate(recorded(token));
  expect(caller.user.id).toBe(theirs);
  expect(theirs).not.toBe(ada);
  expect(made).not.toContain("user ada");
});

test.each([
  ["the system", { system: { all: true } }, { systemScope: "all", projectId: null }],
  ["a domain", { domain: { id: "default" } }, { domainScope: "default", roles: [] }],
  ["nothing", "unscoped", { projectId: null, systemScope: null, roles: [] }],
])("what a token counts for stays %s", async (_what, scope, expected) => {
  const ada = await world.user("ada");
  await world.grant("system", `users/${ada}`, "reader");
  await world.grant("domains/default", `users/${ada}`, "reader");
  const { token } = impersonate(recorded(await world.token(ada, scope)));
  expect(other.validate(token ?? "")).toMatchObject({ userId: ada, ...expected });
});

test("a missing domain is created", async () => {
  const domain = await world.make("domain", { name: "elsewhere" });
  const ada = await world.user("ada", { domain_id: domain });
  const { made, token } = impersonate(recorded(await world.token(ada, "unscoped")));
  expect(made).toEqual(["domain elsewhere", "user ada"]);
  expect(other.validate(token ?? "")).toMatchObject({ domainId: domain });
});

test("an application credential passes on the same roles", async () => {
  const { ada, token } = await member();
  const rules = [{ service: "compute", method: "GET", path: "/v2.1/servers" }];
  const credentialRequest = { name: "ci", secret: "s", roles: [{ name: "reader" }], access_rules: rules };
  const made = await world.ask(
    "POST",
    `users/${ada}/application_credentials`,
    { application_credential: credentialRequest },
    token,
  );
  const id = made.json("application_credential", "id") as string;
  const identity = { methods: ["application_credential"], application_credential: { id, secret: "s" } };
  const login = await world.ask("POST", "auth/tokens", { auth: { identity } }, "");
  const caller = recorded(login.headers["x-subject-token"] ?? "");
  const { token: issuedToken } = impersonate(caller);
  const live = other.api.apis.identity.find(issuedToken ?? "");
  expect(live?.credentials.roles).toEqual(["reader"]);
  expect(live?.accessRules).toMatchObject(rules);
  const more = { application_credential: { name: "more" } };
  expect((await other.ask("POST", `users/${ada}/application_credentials`, more, issuedToken ?? "")).status).toBe(403);
  expect(impersonate(caller).made).toEqual([]);
});

test("the token for placing a server has the role admin, but not its user", async () => {
  const { token } = await member();
  const placing = impersonate(recorded(token), true).token ?? "";
  const plain = impersonate(recorded(token)).token ?? "";
  expect(other.validate(placing)?.roles).toContain("admin");
  expect(other.validate(plain)?.roles).not.toContain("admin");
  const exchanged = { methods: ["token"], token: { id: placing } };
  const again = await other.ask("POST", "auth/tokens", { auth: { identity: exchanged } }, "");
  expect(other.validate(again.headers["x-subject-token"] ?? "")?.roles).not.toContain("admin");
});

test("a disabled user gets no token", async () => {
  const { token, ada } = await member();
  const caller = recorded(token);
  impersonate(caller);
  await other.ask("PATCH", `users/${ada}`, { user: { enabled: false } });
  expect(impersonate(caller).token).toBeNull();
});
