import { describe, expect, test } from "vitest";
import { type StandaloneOptions, startPlacement } from "../../../../src/control-plane/placement/standalone.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

async function start(options: Omit<Partial<StandaloneOptions>, "runtime"> & { readonly conf?: string } = {}) {
  const world = new VirtualWorld();
  const runtime = world.spawn({ name: "placement" });
  const { conf, ...more } = options;
  if (conf !== undefined) {
    await runtime.files.write("/placement.conf", conf);
  }
  const configFile = conf === undefined ? {} : { configFile: "/placement.conf" };
  const service = await world.runUntil(startPlacement({ port: 8778, ...configFile, ...more, runtime }));
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const url = `${service.url}/resource_providers`;
    const { status, body } = await world.runUntil(runtime.http.request({ method: "GET", url, headers }));
    return { status, body };
  };
  return { token: service.token, ask };
}

describe("authentication", () => {
  test("accepts the generated token, but not the user name admin", async () => {
    const { token = "", ask } = await start();
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect((await ask({ "x-auth-token": token })).status).toBe(200);
    for (const wrong of ["admin", "", `${token}:p`, token.slice(1)]) {
      expect((await ask({ "x-auth-token": wrong })).status).toBe(401);
    }
    expect((await ask({ "x-auth-token": token, "x-roles": "member" })).status).toBe(403);
  });

  test.each([{ authStrategy: "noauth2" as const }, { conf: "[api]\nauth_strategy = noauth2\n" }])(
    "accepts any user with %j",
    async (options) => {
      const { token, ask } = await start(options);
      expect(token).toBeUndefined();
      expect((await ask({ "x-auth-token": "admin" })).status).toBe(200);
    },
  );

  test("rejects keystone", async () => {
    await expect(start({ conf: "[api]\nauth_strategy = keystone\n" })).rejects.toThrow(
      "[api] auth_strategy = keystone needs an Identity service",
    );
  });
});

describe("the Host header", () => {
  test.each([
    ["127.0.0.1:8778", 200],
    ["LOCALHOST:8778", 200],
    ["localhost.:8778", 200],
    ["[::1]:8778", 200],
    ["10.0.0.7", 200],
    ["placement.example.org:80", 200],
    ["evil.example.org:8778", 403],
    ["127.0.0.1.evil.example.org", 403],
    ["localhost.evil.example.org:8778", 403],
    ["", 403],
  ])("%s: %i", async (host, status) => {
    const { ask } = await start({ authStrategy: "noauth2", serverNames: ["Placement.example.org"] });
    expect((await ask({ "x-auth-token": "admin", host })).status).toBe(status);
  });

  test("a rejection contains the actual value, the expected value, and what to do", async () => {
    const { ask } = await start({ authStrategy: "noauth2" });
    expect((await ask({ "x-auth-token": "admin", host: "evil:1" })).body).toContain(
      String.raw`found \"evil:1\", expected an address, localhost or a name given with --server-name`,
    );
  });
});
