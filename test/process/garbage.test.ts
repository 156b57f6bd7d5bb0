import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { LocalCloud } from "./support/local-cloud.js";

describe("garbage on every listener", () => {
  let cloud: LocalCloud;
  const everything = async () => ({
    servers: (await cloud.compute("GET", "/servers/detail?all_tenants=1")).body,
    services: (await cloud.compute("GET", "/os-services?binary=nova-compute")).body.services?.length,
    providers: (await cloud.placement("GET", "/resource_providers")).body,
    flavors: (await cloud.compute("GET", "/flavors/detail")).body,
  });
  let before: unknown;

  beforeAll(async () => {
    cloud = await LocalCloud.start();
    await cloud.startAgent("devstack1");
    before = await everything();
  });
  afterAll(() => cloud.dispose());

  const unharmed = async () => {
    expect(cloud.controlPlane.running, cloud.controlPlane.stderr).toBe(true);
    expect(await everything()).toEqual(before);
  };

  it.each([
    ["/compute/v2.1/servers", "{not json", 400],
    ["/compute/v2.1/servers", '{"server": 7}', 400],
    ["/compute/v2.1/servers", '{"server": {"name": ["x"], "flavorRef": {}, "networks": 3}}', 400],
    ["/identity/v3/auth/tokens", "[]", 400],
    ["/identity/v3/auth/tokens", "\u0000", 400],
    ["/placement/resource_providers", '{"name": 4}', 400],
    ["/placement/reshaper", "nothing", 400],
    ["/nowhere/at/all", "{}", 404],
  ])("POST %s with %j returns %i", async (path, body, status) => {
    await cloud.authenticate();
    const response = await fetch(`${cloud.url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-auth-token": await cloud.token(),
        "openstack-api-version": "placement 1.39",
      },
      body,
    });
    expect(response.status).toBe(status);
    await unharmed();
  });

  it.each(["/compute/v2.1/servers", "/placement/resource_providers", "/image/v2/images"])(
    "%s without a token, with a forged and with a nonsense one is 401",
    async (path) => {
      for (const token of [undefined, "gAAAAABforged", "\t", "x".repeat(5000)]) {
        const response = await fetch(
          `${cloud.url}${path}`,
          token === undefined ? {} : { headers: { "x-auth-token": token } },
        );
        expect(response.status).toBe(401);
      }
      await unharmed();
    },
  );

  it("a body beyond the limit is 413", async () => {
    const statusCode = await fetch(`${cloud.url}/compute/v2.1/servers`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-auth-token": await cloud.token() },
      body: JSON.stringify({ server: { name: "x".repeat(20 * 1024 * 1024) } }),
    }).then(
      (response) => response.status,
      // The server may respond and close the connection while the client still sends.
      () => 413,
    );
    expect(statusCode).toBe(413);
    await unharmed();
  });

  it("bytes that are not HTTP are rejected", async () => {
    const { hostname, port } = new URL(cloud.url);
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.end("\u0016\u0003\u0001 hello\r\n\r\n"));
      let text = "";
      socket.on("data", (data) => {
        text += data.toString();
      });
      socket.on("close", () => resolve(text));
      socket.on("error", reject);
    });
    expect(reply).toMatch(/^HTTP\/1.1 400/);
    await unharmed();
  });

  it("the conductor rejects a wrong join token with 401", async () => {
    const statusCode = await new Promise<number | undefined>((resolve) => {
      const socket = new WebSocket(`${cloud.url.replace("http", "ws")}/conductor`, {
        headers: { authorization: "Bearer no" },
      });
      socket.on("unexpected-response", (_request, response) => resolve(response.statusCode));
      socket.on("open", () => resolve(101));
    });
    expect(statusCode).toBe(401);
    await unharmed();
  });

  it.each(["{", "[]", "7", '{"jsonrpc":"2.0","id":1,"method":"drop_tables","params":{}}', "x".repeat(100_000)])(
    "the conductor replies to the frame %.40j with an error, or closes",
    async (frame) => {
      const joinToken = await cloud.joinToken();
      const outcome = await new Promise<string>((resolve) => {
        const socket = new WebSocket(`${cloud.url.replace("http", "ws")}/conductor`, {
          headers: { authorization: `Bearer ${joinToken}` },
        });
        socket.on("open", () => socket.send(frame));
        socket.on("message", (data) => {
          resolve(data.toString());
          socket.close();
        });
        socket.on("close", () => resolve("closed"));
      });
      if (outcome !== "closed") {
        expect(JSON.parse(outcome)).toMatchObject({ error: { message: expect.any(String) } });
      }
      await unharmed();
    },
  );
});
