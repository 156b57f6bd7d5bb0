import { expect, test } from "vitest";
import { stringify } from "yaml";
import { writeCloudsYaml } from "../../../../src/control-plane/identity/clouds-yaml.js";
import { openrc } from "../../../../src/control-plane/identity/openrc.js";
import { ApiWorld } from "../compute/api-world.js";

const URL_ = "http://127.0.0.1:8774/identity/v3";

test("has the settings of the cloud in clouds.yaml", async () => {
  const world = await ApiWorld.open();
  const { files } = world.world.spawn();
  await writeCloudsYaml(files, "/clouds.yaml", world.apis.identity, URL_);
  const text = await files.read("/clouds.yaml");
  const password = /password: "([0-9a-f]{32})"/.exec(text)?.[1];
  expect(openrc(text, "devstack")?.split("\n")).toEqual([
    "unset OS_CLOUD",
    "export OS_AUTH_TYPE=password",
    `export OS_AUTH_URL=${URL_}`,
    "export OS_USERNAME=admin",
    `export OS_PASSWORD=${password}`,
    "export OS_USER_DOMAIN_ID=default",
    "export OS_PROJECT_NAME=admin",
    "export OS_PROJECT_DOMAIN_ID=default",
    "export OS_REGION_NAME=RegionOne",
    "export OS_IDENTITY_API_VERSION=3",
  ]);
  expect(openrc(text, "devstack-system-admin")).toContain("export OS_SYSTEM_SCOPE=all");
});

test("quotes for the shell", () => {
  const clouds = { mine: { auth: { password: "it's $HOME" }, region_name: "R", identity_api_version: 3 } };
  expect(openrc(stringify({ clouds }), "mine")).toContain(String.raw`export OS_PASSWORD='it'\''s $HOME'`);
});

test.each(["", "clouds: {}", "clouds: {devstack: 5}", "5"])("%j has no cloud of this name", (text) => {
  expect(openrc(text, "devstack")).toBeUndefined();
  expect(openrc(text, "toString")).toBeUndefined();
});
