import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { quietLogger } from "../../../../src/cli/ui/logging.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { LocalWorld } from "../../../../src/simulation/local/local-world.js";

describe("processes of a local world", () => {
  let world: LocalWorld;
  beforeEach(() => {
    world = new LocalWorld(quietLogger, { time: "real", onDisk: false });
  });
  afterEach(() => world.close());

  const services = {
    "/hello": () => ({ status: 200, headers: {}, body: "hello" }),
  };

  it("reach each other's listeners, as do other processes of the machine", async () => {
    const server = world.spawn("server");
    const { url } = await server.runtime.servers.listen({ port: 0, services });
    const externalRuntime = createNodeRuntime({ logger: quietLogger });
    const request = { method: "GET", url: `${url}/hello` } as const;
    expect(await world.spawn("client").runtime.http.request(request)).toMatchObject({ status: 200, body: "hello" });
    expect(await externalRuntime.http.request(request)).toMatchObject({ status: 200, body: "hello" });
    await server.kill();
    await expect(world.spawn("client").runtime.http.request(request)).rejects.toThrow("ECONNREFUSED");
    await expect(externalRuntime.http.request(request)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    await externalRuntime.http.close();
  });

  it("observe the broken sockets and the dead pid of a killed one", async () => {
    const server = world.spawn("server");
    const { url } = await server.runtime.servers.listen({ port: 0, services, sockets: { "/talk": () => undefined } });
    const client = world.spawn("client").runtime;
    const socket = await client.sockets.connect(`${url.replace("http", "ws")}/talk`);
    const closed = new Promise<number>((resolve) => socket.onClose(resolve));
    const { pid } = server.runtime.processes;
    expect(client.processes.isAlive(pid)).toBe(true);
    await server.kill();
    expect(await closed).toBe(1006);
    expect(client.processes.isAlive(pid)).toBe(false);
    expect(client.processes.isAlive(world.spawn("seen", { isVisible: true }).runtime.processes.pid)).toBe(true);
  });

  it("draw the same random numbers from the same seed, and others after a restart", () => {
    const draw = (seed: number) => {
      const one = new LocalWorld(quietLogger, { time: "virtual", seed, onDisk: false });
      return [one.spawn("a"), one.spawn("b"), one.spawn("a")].map(({ runtime }) => runtime.random.uuid());
    };
    expect(draw(7)).toEqual(draw(7));
    expect(new Set([...draw(7), ...draw(8)]).size).toBe(6);
  });
});
