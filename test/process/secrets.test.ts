import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import type { Program } from "./support/program.js";

let cloud: LocalCloud;
let agents: readonly Program[];

beforeAll(async () => {
  cloud = await LocalCloud.start();
  agents = [await cloud.startAgent("devstack1", DEBUG), await cloud.startAgent("devstack2", DEBUG)];
});
afterAll(() => cloud.dispose());

const DEBUG = { args: ["--debug"] };

/** Files that contain secrets on purpose, readable only by their owner. */
const KEEPERS = ["clouds.yaml", "join-token", "agent.conf"];

const PASSWORDS = { adminPass: "my-own-admin-pass", rebuilt: "my-own-rebuild-pass", wrong: "a-mistyped-password" };
const FORGED = "gAAAAABforged-token-of-somebody";

function login(user: string, password: string) {
  return cloud.request("POST", "/identity/v3/auth/tokens", {
    auth: {
      identity: { methods: ["password"], password: { user: { name: user, domain: { id: "default" }, password } } },
      scope: { project: { name: user, domain: { id: "default" } } },
    },
  });
}

/** Makes a control plane and agents write much: logins, builds, moves, errors, an agent that dies. */
async function busyDay(): Promise<readonly string[]> {
  const operator = new Operator(cloud);
  const clouds = parse(await readFile(join(cloud.stateDir, "clouds.yaml"), "utf8")).clouds;
  const passwords = ["devstack", "devstack-demo"].map((name) => String(clouds[name].auth.password));
  const demo = String((await login("demo", passwords[1] ?? "")).headers["x-subject-token"]);
  expect((await login("admin", PASSWORDS.wrong)).status).toBe(401);
  expect((await cloud.request("GET", "/compute/v2.1/servers", undefined, { "x-auth-token": FORGED })).status).toBe(401);
  expect((await cloud.request("GET", "/compute/v2.1/os-services", undefined, { "x-auth-token": demo })).status).toBe(
    403,
  );
  await cloud.request("GET", "/identity/v3/auth/tokens", undefined, { "x-subject-token": demo });
  expect(
    (await cloud.request("GET", "/placement/resource_providers", undefined, { "x-auth-token": FORGED })).status,
  ).toBe(401);
  await cloud.compute("POST", "/servers", { server: { name: 5, adminPass: PASSWORDS.adminPass } });
  const server = { name: "vm1", flavorRef: "1", imageRef: await operator.image(), networks: "none", host: "devstack1" };
  const made = await cloud.compute("POST", "/servers", { server: { ...server, adminPass: PASSWORDS.adminPass } });
  const second = await cloud.compute("POST", "/servers", { server: { ...server, name: "vm2" } });
  const [vm1, vm2] = [String(made.body.server?.id), String(second.body.server?.id)];
  await Promise.all([vm1, vm2].map((id) => operator.serverIn(id, "ACTIVE")));
  const rebuild = { imageRef: server.imageRef, adminPass: PASSWORDS.rebuilt };
  expect((await cloud.compute("POST", `/servers/${vm1}/action`, { rebuild })).status).toBe(202);
  await operator.serverIn(vm1, "ACTIVE");
  await agents[0]?.kill();
  await operator.forceDown("devstack1", true);
  await operator.evacuate(vm2, "devstack2");
  await operator.serverIn(vm2, "ACTIVE");
  agents = [await cloud.startAgent("devstack1", DEBUG), ...agents];
  const generated = String(second.body.server?.adminPass);
  return [
    ...passwords,
    demo,
    await cloud.token(),
    await cloud.joinToken(),
    generated,
    FORGED,
    ...Object.values(PASSWORDS),
  ];
}

/** Returns all output of processes and all files by name, except those with secrets and guests' disks. */
async function written(): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>();
  for (const [index, { stdout, stderr }] of [cloud.controlPlane, ...agents].entries()) {
    contents.set(`process ${index}`, stdout + stderr);
  }
  const entries = await readdir(cloud.stateDir, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile() && !/disk/.test(each.name))) {
    const path = join(entry.parentPath, entry.name);
    if (KEEPERS.includes(entry.name)) {
      expect((await stat(path)).mode & 0o777, entry.name).toBe(0o600);
    } else {
      contents.set(entry.name, await readFile(path, "latin1"));
    }
  }
  return contents;
}

test("no token or password is written to a log, a database or a file of the hypervisor", async () => {
  const secrets = await busyDay();
  expect(secrets.every((secret) => secret.length >= 12)).toBe(true);
  const contents = await written();
  expect(contents.size).toBeGreaterThan(8);
  expect(contents.get("process 0")).toContain("listening on");
  const leaks = [...contents].flatMap(([name, text]) =>
    [...secrets.filter((secret) => text.includes(secret)), ...(text.match(/gAAAAA[\w-]{20,}/) ?? [])].map(
      (secret) => `${secret.slice(0, 12)}… in ${name}`,
    ),
  );
  expect(leaks).toEqual([]);
});
