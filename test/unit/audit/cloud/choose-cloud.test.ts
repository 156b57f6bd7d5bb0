import { describe, expect, it } from "vitest";
import { type CloudChoice, chooseCloud } from "../../../../src/audit/cloud/choose-cloud.js";
import type { Files } from "../../../../src/runtime/files.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

const CLOUDS = `clouds:
  one:
    auth:
      auth_url: http://keystone:5000/v3
      username: admin
      password: 0012
      project_name: admin
      project_domain_name: Default
      user_domain_name: Default
    region_name: RegionTwo
    interface: internal
    compute_endpoint_override: http://nova/v2.1
  app:
    auth_type: v3applicationcredential
    auth:
      auth_url: https://keystone
      application_credential_id: abc
      application_credential_secret: s3cret
`;

async function filesOf(contents: Readonly<Record<string, string>>): Promise<Files> {
  const { files } = new VirtualWorld().spawn({ name: "client" });
  for (const [path, text] of Object.entries(contents)) {
    await files.write(path, text);
  }
  return files;
}

async function choose(contents: Readonly<Record<string, string>>, choice: Partial<CloudChoice> = {}) {
  return chooseCloud(await filesOf(contents), {
    environment: {},
    cwd: "/home/me/cloud",
    home: "/home/me",
    local: { file: "/home/me/cloud/.compute-cluster/clouds.yaml", cloud: "devstack" },
    ...choice,
  });
}

describe("choosing a cloud and its credentials", () => {
  it("reads a named cloud from clouds.yaml, with passwords of digits unchanged", async () => {
    expect(await choose({ "/home/me/cloud/clouds.yaml": CLOUDS }, { cloud: "one" })).toEqual({
      name: "one",
      authUrl: "http://keystone:5000/v3",
      credentials: { kind: "password", user: { name: "admin", domain: { name: "Default" } }, password: "0012" },
      scope: { kind: "project", name: "admin", domain: { name: "Default" } },
      interface: "internal",
      region: "RegionTwo",
      endpoints: { compute: "http://nova/v2.1" },
    });
  });

  it.each([
    ["verify: false", { verify: false }],
    ["verify: true", undefined],
    ["insecure: true", { verify: false }],
    ["cacert: /etc/ca.pem", { verify: true, cacert: "/etc/ca.pem" }],
    ["cert: /c.pem\n    key: /k.pem", { verify: true, cert: "/c.pem", key: "/k.pem" }],
  ])("reads TLS settings: %s", async (line, tls) => {
    const text = CLOUDS.replace("    region_name", `    ${line}\n    region_name`);
    expect((await choose({ "/home/me/cloud/clouds.yaml": text }, { cloud: "one" })).tls).toEqual(tls);
  });

  it("reads application credentials, which include their scope", async () => {
    const config = await choose({ "/home/me/cloud/clouds.yaml": CLOUDS }, { cloud: "app" });
    expect(config.credentials).toEqual({ kind: "application_credential", id: "abc", secret: "s3cret" });
    expect(config.scope).toBeUndefined();
  });

  it.each(["/home/me/cloud/clouds.yaml", "/home/me/.config/openstack/clouds.yaml", "/etc/openstack/clouds.yaml"])(
    "searches %s",
    async (path) => {
      expect((await choose({ [path]: CLOUDS }, { cloud: "one" })).name).toBe("one");
    },
  );

  it("prefers OS_CLIENT_CONFIG_FILE, and reads secrets from secure.yaml beside it", async () => {
    const without = CLOUDS.replace("      password: 0012\n", "");
    const secure = "clouds:\n  one:\n    auth:\n      password: hidden\n";
    const environment = { OS_CLIENT_CONFIG_FILE: "/cfg/clouds.yaml", OS_CLOUD: "one" };
    const contents = {
      "/cfg/clouds.yaml": without,
      "/cfg/secure.yaml": secure,
      "/home/me/cloud/clouds.yaml": "clouds: {}",
    };
    expect((await choose(contents, { environment })).credentials).toMatchObject({ password: "hidden" });
  });

  it("reads OS_* variables, also a token, if no cloud is named", async () => {
    const environment = { OS_AUTH_URL: "http://k", OS_TOKEN: "t", OS_PROJECT_ID: "p", OS_REGION_NAME: "R" };
    expect(await choose({}, { environment, interface: "admin" })).toMatchObject({
      credentials: { kind: "token", token: "t" },
      scope: { kind: "project", id: "p" },
      region: "R",
      interface: "admin",
    });
  });

  it("uses the local cluster by default, and explains what to do if there is none", async () => {
    const local = CLOUDS.replace("  one:", "  devstack:");
    expect((await choose({ "/home/me/cloud/.compute-cluster/clouds.yaml": local })).name).toBe("devstack");
    await expect(choose({})).rejects.toThrow(/--os-cloud or OS_CLOUD.*compute-agent up/);
  });

  it("prefers a requested local cluster to OS_* variables, and a named cloud to both", async () => {
    const local = { file: "/there/clouds.yaml", cloud: "devstack", requested: true };
    const environment = { OS_CLOUD: "one", OS_AUTH_URL: "http://k" };
    const contents = {
      "/there/clouds.yaml": CLOUDS.replace("  one:", "  devstack:"),
      "/home/me/cloud/clouds.yaml": CLOUDS,
    };
    expect((await choose(contents, { environment, local })).name).toBe("devstack");
    expect((await choose(contents, { environment, local, cloud: "one" })).name).toBe("one");
    await expect(choose({}, { environment, local })).rejects.toThrow(
      /^\/there\/clouds\.yaml: there is no local cluster; start one with "compute-agent up"/,
    );
  });

  it.each([
    ["no YAML", "clouds:\n  one: [\n", /^\/home\/me\/cloud\/clouds.yaml:\d+: not YAML/],
    ["no clouds", "cloud: 1\n", /^\/home\/me\/cloud\/clouds.yaml:1: expected a mapping "clouds:"/],
    ["another cloud", "clouds:\n  two: {}\n", /expected a cloud one, found two/],
    ["no mapping", "clouds:\n  one: 3\n", /^\/home\/me\/cloud\/clouds.yaml:2: expected settings of cloud one/],
    [
      "a list as auth",
      "clouds:\n  one:\n    auth: [1]\n",
      /^\/home\/me\/cloud\/clouds.yaml:3: expected a mapping below auth/,
    ],
    [
      "a missing key",
      CLOUDS.replace("      username: admin\n", ""),
      /^\/home\/me\/cloud\/clouds.yaml:2 .*username is missing/,
    ],
    [
      "no URL",
      CLOUDS.replace("http://keystone:5000/v3", "keystone"),
      /^\/home\/me\/cloud\/clouds.yaml:4: expected http:/,
    ],
    ["a foreign auth_type", `${CLOUDS}  x: {}\n`.replace("v3application", "v3oidc"), /:14: expected one of password/],
    [
      "a list as password",
      CLOUDS.replace("0012", "[hunter2]"),
      /^\/home\/me\/cloud\/clouds.yaml:6: expected text as auth.password/,
    ],
    [
      "verify",
      CLOUDS.replace("    region_name", "    verify: perhaps\n    region_name"),
      /:10: expected true or false as verify/,
    ],
  ])("reports the line of %s, without secrets", async (what, text, message) => {
    const cloud = what.includes("auth_type") ? "app" : "one";
    const error = await choose({ "/home/me/cloud/clouds.yaml": text }, { cloud }).catch((each: Error) => each);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toMatch(/hunter2|0012|s3cret/);
  });
});
