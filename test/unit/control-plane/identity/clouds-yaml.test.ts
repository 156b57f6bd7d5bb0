import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { readPasswords, writeCloudsYaml } from "../../../../src/control-plane/identity/clouds-yaml.js";
import type { Files } from "../../../../src/runtime/files.js";
import { ApiWorld } from "../compute/api-world.js";

const PATH = "/state/clouds.yaml";
const URL_ = "http://127.0.0.1:8774/identity/v3";

let world: ApiWorld;
let files: Files;

beforeEach(async () => {
  world = await ApiWorld.open();
  files = world.world.spawn().files;
});

const write = (url = URL_) => writeCloudsYaml(files, PATH, world.apis.identity, url);
const content = async () => parse(await files.read(PATH)).clouds;

describe("clouds.yaml", () => {
  test("is readable by its owner only, and has three clouds", async () => {
    await write();
    expect(((await files.stat(PATH))?.mode ?? 0) & 0o777).toBe(0o600);
    expect(await content()).toMatchObject({
      devstack: { auth: { auth_url: URL_, username: "admin", project_name: "admin" }, region_name: "RegionOne" },
      "devstack-demo": { auth: { username: "demo", project_name: "demo" } },
      "devstack-system-admin": { auth: { username: "admin", system_scope: "all" } },
    });
  });

  test("retains its passwords when the address changes", async () => {
    await write();
    const before = await readPasswords(files, PATH);
    await write("http://127.0.0.1:9/identity/v3");
    expect(await readPasswords(files, PATH)).toEqual(before);
    expect((await content()).devstack.auth.auth_url).toBe("http://127.0.0.1:9/identity/v3");
  });

  test.each([
    "",
    "[",
    "clouds: 5",
    "clouds: {devstack: {auth: {password: [1]}}}",
    "clouds: {devstack: {auth: {password: no}}}",
  ])("that holds %j is replaced, with new passwords that work", async (text) => {
    await files.write(PATH, text);
    await write();
    const password = (await readPasswords(files, PATH)).get("admin") ?? "";
    expect(password).toMatch(/^[0-9a-f]{32}$/);
    expect(await world.apis.identity.ensurePassword("admin", password)).toBe(password);
  });

  test("quotes passwords that look like numbers", async () => {
    const seededIdentities = { projects: [], users: [] };
    const identity = { ensurePassword: async () => "12345678901234567890123456789012", seededIdentities };
    await writeCloudsYaml(files, PATH, identity, URL_);
    expect(await files.read(PATH)).toContain('password: "12345678901234567890123456789012"');
  });
});
