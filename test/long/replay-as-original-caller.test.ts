import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { passwordToken, request } from "../process/support/cloud.js";
import { clusterHome } from "../process/support/cluster-home.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";

const { path, run, begin } = clusterHome("replay-who");

const SECRETS = ["early-secret-of-eve", "first-secret-of-ada", "second-secret-of-ada", "secret-of-the-program"];
const [OF_EVE = "", FIRST = "", SECOND = "", OF_PROGRAM = ""] = SECRETS;

interface Named {
  readonly id: string;
  readonly name: string;
}

interface Replayed {
  readonly cluster: string;
  readonly differences: readonly unknown[];
  readonly allocations: readonly string[];
  readonly made: readonly string[];
  readonly left: readonly string[];
}

it("a replay impersonates the original callers: users, projects and scopes, rejections, and owned resources", async () => {
  const up = await run("up", "--name", "people", "--hosts", "2", "--port", "0", "--detach", "--json");
  const { url, stateDir } = JSON.parse(up.stdout) as { readonly url: string; readonly stateDir: string };
  const cloud = LocalCloud.over(stateDir, url);
  const tokens: string[] = [];

  async function login(identity: object, scope?: object): Promise<string> {
    const response = await fetch(`${url}/identity/v3/auth/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ auth: { identity, ...(scope === undefined ? {} : { scope }) } }),
    });
    expect(response.status).toBe(201);
    const token = response.headers.get("x-subject-token") ?? "";
    tokens.push(token);
    return token;
  }
  const project = (name: string) => ({ project: { name, domain: { id: "default" } } });
  const byPassword = (name: string, password: string, scope: object) =>
    login({ methods: ["password"], password: { user: { name, domain: { id: "default" }, password } } }, scope);
  const as = (token: string) => ({
    ask: async (method: string, target: string, body?: unknown) =>
      request(method, `${url}${target}`, body, { "x-auth-token": token, "openstack-api-version": "compute 2.79" }),
  });
  const statusOf = async (token: string, method: string, target: string, body?: unknown) =>
    (await as(token).ask(method, target, body)).status;
  const identity = (method: string, target: string, body?: unknown) =>
    cloud.request(method, `/identity/v3${target}`, body);
  const named = async (kind: string, name: string) =>
    String((await identity("GET", `/${kind}?name=${name}`)).body[kind]?.[0]?.id);

  // Entities that exist before the recording starts.
  const early = String((await identity("POST", "/projects", { project: { name: "early" } })).body.project?.id);
  const eve = String((await identity("POST", "/users", { user: { name: "eve", password: OF_EVE } })).body.user?.id);
  await identity("PUT", `/projects/${early}/users/${eve}/roles/${await named("roles", "member")}`);

  const file = join(path(), "people.jsonl");
  const record = begin("record", file, "--name", "people");
  await record.printed(/Ctrl-C ends it/);

  const clouds = parse(await readFile(join(stateDir, "clouds.yaml"), "utf8")).clouds;
  const ofDemo = String(clouds["devstack-demo"].auth.password);
  const ofAdmin = String(clouds.devstack.auth.password);
  const demo = await byPassword("demo", ofDemo, project("demo"));
  expect(await statusOf(demo, "GET", "/compute/v2.1/os-services")).toBe(403);
  const blob = Buffer.concat([Buffer.from("\0\0\0\vssh-ed25519\0\0\0 "), Buffer.alloc(32, 7)]).toString("base64");
  const key = { keypair: { name: "key", type: "ssh", public_key: `ssh-ed25519 ${blob} somebody` } };
  expect(await statusOf(demo, "POST", "/compute/v2.1/os-keypairs", key)).toBe(201);
  const flavors = (await as(demo).ask("GET", "/compute/v2.1/flavors")).body.flavors as unknown as Named[];
  const images = (await as(demo).ask("GET", "/image/v2/images")).body.images as unknown as Named[];
  const boot = (name: string) => ({
    server: {
      name,
      flavorRef: flavors.find((flavor) => flavor.name === "m1.tiny")?.id,
      imageRef: images[0]?.id,
      networks: "none",
      key_name: "key",
      user_data: Buffer.from("a script").toString("base64"),
    },
  });
  const vm = String((await as(demo).ask("POST", "/compute/v2.1/servers", boot("of-demo"))).body.server?.id);
  await new Operator(cloud).serverIn(vm, "ACTIVE");
  // The image has no guest agent for this; without a password it would be a bad request.
  const other = { changePassword: { adminPass: "another-secret-of-demo" } };
  expect(await statusOf(demo, "POST", `/compute/v2.1/servers/${vm}/action`, other)).toBe(409);
  await cloud.request("PUT", `/compute/v2.1/os-quota-sets/${await named("projects", "demo")}`, {
    quota_set: { instances: 1 },
  });
  expect(await statusOf(demo, "POST", "/compute/v2.1/servers", boot("too-many"))).toBe(403);
  const image = { name: "of-demo", disk_format: "raw", container_format: "bare" };
  const mine = String((await as(demo).ask("POST", "/image/v2/images", image)).body.id);
  const upload = await fetch(`${url}/image/v2/images/${mine}/file`, {
    method: "PUT",
    headers: { "x-auth-token": demo, "content-type": "application/octet-stream" },
    body: "the bytes of an image",
  });
  expect(upload.status).toBe(204);

  expect(await statusOf(await byPassword("eve", OF_EVE, project("early")), "GET", "/compute/v2.1/servers")).toBe(200);

  const ada = String((await identity("POST", "/users", { user: { name: "ada", password: FIRST } })).body.user?.id);
  const home = await named("projects", "demo");
  await identity("PUT", `/projects/${home}/users/${ada}/roles/${await named("roles", "member")}`);
  const before = await byPassword("ada", FIRST, project("demo"));
  expect((await as(before).ask("GET", "/compute/v2.1/os-keypairs")).body.keypairs).toEqual([]);
  // The new one belongs to her, and has the same name as demo's.
  expect(await statusOf(before, "POST", "/compute/v2.1/os-keypairs", key)).toBe(201);
  expect(await statusOf(before, "GET", `/image/v2/images/${mine}`)).toBe(200);
  const change = { user: { original_password: FIRST, password: SECOND } };
  expect(await statusOf(before, "POST", `/identity/v3/users/${ada}/password`, change)).toBe(204);
  expect(await statusOf(before, "GET", "/compute/v2.1/servers")).toBe(401);
  const after = await byPassword("ada", SECOND, project("demo"));
  expect(await statusOf(after, "POST", `/identity/v3/users/${ada}/password`, change)).toBe(401);

  const credentialRequest = {
    application_credential: { name: "program", secret: OF_PROGRAM, roles: [{ name: "reader" }] },
  };
  const credentials = `/identity/v3/users/${ada}/application_credentials`;
  const program = (await as(after).ask("POST", credentials, credentialRequest)).body.application_credential;
  const token = await login({
    methods: ["application_credential"],
    application_credential: { id: program?.id, secret: OF_PROGRAM },
  });
  expect(await statusOf(token, "GET", `/compute/v2.1/servers/${vm}`)).toBe(200);
  expect(await statusOf(token, "DELETE", `/compute/v2.1/servers/${vm}`)).toBe(403);
  expect(await statusOf(token, "POST", credentials, credentialRequest)).toBe(403);

  const system = await byPassword("admin", ofAdmin, { system: { all: true } });
  expect(await statusOf(system, "GET", "/identity/v3/users")).toBe(200);
  expect((await fetch(`${url}/compute/`)).status).toBe(200);
  expect(await statusOf("nonsense", "GET", "/compute/v2.1/servers")).toBe(401);
  await identity("PATCH", `/users/${await named("users", "admin")}`, { user: { password: "other-secret-of-admin" } });
  record.signal("SIGINT");
  expect(await record.exited).toMatchObject({ code: 0 });

  const text = await readFile(file, "utf8");
  for (const secret of [
    ...SECRETS,
    ...tokens,
    ofDemo,
    ofAdmin,
    "other-secret-of-admin",
    "another-secret-of-demo",
    "YSBzY3JpcHQ",
  ]) {
    expect(text).not.toContain(secret);
  }

  const again = await run("replay", file, "--speed", "10", "--json");
  const { cluster, ...outcome } = JSON.parse(again.stdout) as Replayed;
  expect({ ...outcome, code: again.code }).toEqual({
    differences: [],
    allocations: [],
    made: ["user eve", "project early", "role reader of eve", "role member of eve"],
    left: [],
    code: 0,
  });
  const listed = JSON.parse((await run("list", "--json")).stdout) as { name: string; url: string; stateDir: string }[];
  const replayed = listed.find(({ name }) => name === cluster) ?? { url: "", stateDir: "" };
  const theirs = parse(await readFile(join(replayed.stateDir, "clouds.yaml"), "utf8")).clouds["devstack-demo"].auth;
  const identityOfDemo = { username: "demo", password: String(theirs.password), project: "demo" };
  const headers = { "x-auth-token": await passwordToken(`${replayed.url}/identity`, identityOfDemo) };
  const owned = async (target: string) => (await request("GET", replayed.url + target, undefined, headers)).body;
  expect(await owned("/compute/v2.1/servers")).toMatchObject({ servers: [{ name: "of-demo" }] });
  expect(await owned("/compute/v2.1/os-keypairs")).toMatchObject({ keypairs: [{ keypair: { name: "key" } }] });
  expect(await owned("/image/v2/images?name=of-demo")).toMatchObject({
    images: [{ status: "active", size: "the bytes of an image".length, owner: home }],
  });
}, 120_000);
