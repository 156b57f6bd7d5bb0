import { beforeEach, describe, expect, it } from "vitest";
import { HttpConnectFailure, HttpTimeout } from "../../../src/runtime/http.js";
import type { Socket } from "../../../src/runtime/sockets.js";
import { type VirtualRuntime, VirtualWorld } from "../../../src/simulation/virtual-world.js";

let world: VirtualWorld;
let server: VirtualRuntime;
let client: VirtualRuntime;
let served: string[];
let url: string;

beforeEach(async () => {
  world = new VirtualWorld();
  server = world.spawn({ name: "server" });
  client = world.spawn({ name: "client" });
  served = [];
  const listener = await server.servers.listen({
    port: 0,
    services: {
      "/echo": ({ path, body }) => {
        served.push(path);
        return { status: 200, headers: { "x-service": "echo" }, body };
      },
      "/slow": async ({ path }) => {
        served.push(path);
        await server.timers.sleep(5_000);
        return { status: 200, headers: {}, body: "slow" };
      },
    },
  });
  url = listener.url;
});

function get(path: string, options: { timeout?: number; signal?: AbortSignal } = {}) {
  return client.http.request({ method: "GET", url: url + path, ...options });
}

describe("HTTP in the virtual network", () => {
  it("reaches handlers without sockets, with the latency of the network", async () => {
    world.network.latency = 7;
    const response = await world.runUntil(client.http.request({ method: "PUT", url: `${url}/echo/a?b`, body: "text" }));
    expect(response).toEqual({ status: 200, headers: { "x-service": "echo" }, body: "text" });
    expect(client.clock.monotonic()).toBe(14);
  });

  it("times out, and lets the server complete nevertheless", async () => {
    await expect(world.runUntil(get("/slow/x", { timeout: 1_000 }))).rejects.toThrow(HttpTimeout);
    expect(client.clock.monotonic()).toBe(1_000);
    expect(served).toEqual(["/x"]);
  });

  it("can be aborted", async () => {
    const controller = new AbortController();
    const request = expect(get("/slow", { signal: controller.signal })).rejects.toThrow("stop");
    await world.advance(10);
    controller.abort(new Error("stop"));
    await request;
  });

  it("fails with ECONNREFUSED where there is no listener, and after the listener's process is killed", async () => {
    const other = client.http.request({ method: "GET", url: "http://127.0.0.1:1/" });
    await expect(world.runUntil(other)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    server.kill();
    await expect(world.runUntil(get("/echo"))).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("fails with ECONNRESET when the server is killed during the request", async () => {
    const request = expect(get("/slow")).rejects.toMatchObject({ name: "HttpConnectFailure", code: "ECONNRESET" });
    await world.advance(10);
    server.kill();
    await world.advance(0);
    await request;
  });

  it("never responds to a killed client", async () => {
    let responded = false;
    void get("/slow").then(() => {
      responded = true;
    });
    await world.advance(10);
    client.kill();
    await world.advance(10_000);
    expect([served.length, responded]).toEqual([1, false]);
  });

  it("loses a response after the server has done its work", async () => {
    world.network.inject({ fault: { kind: "lose-answer" }, times: 1 });
    await expect(world.runUntil(get("/echo/1"))).rejects.toThrow(HttpConnectFailure);
    expect(served).toEqual(["/1"]);
    expect((await world.runUntil(get("/echo/2"))).status).toBe(200);
  });

  it("refuses, delays or answers the requests that a rule matches, until the rule is removed", async () => {
    const remove = world.network.inject({
      fault: { kind: "answer", response: { status: 503, headers: {}, body: "" } },
      match: ({ from, method, url: target }) => from === "client" && method === "GET" && target.endsWith("/down"),
    });
    expect((await world.runUntil(get("/echo/down"))).status).toBe(503);
    expect((await world.runUntil(get("/echo/up"))).status).toBe(200);
    remove();
    expect((await world.runUntil(get("/echo/down"))).status).toBe(200);
    world.network.inject({ fault: { kind: "refuse" }, times: 1 });
    await expect(world.runUntil(get("/echo"))).rejects.toMatchObject({ code: "ECONNREFUSED" });
    world.network.inject({ fault: { kind: "latency", milliseconds: 300 } });
    const before = client.clock.monotonic();
    await world.runUntil(get("/echo"));
    expect(client.clock.monotonic() - before).toBe(300);
  });
});

describe("faults of messages", () => {
  it("lose a request before it reaches the server", async () => {
    world.network.inject({ fault: { kind: "lose-request" }, times: 1 });
    await expect(world.runUntil(get("/echo/1", { timeout: 500 }))).rejects.toThrow(HttpTimeout);
    expect(served).toEqual([]);
    expect((await world.runUntil(get("/echo/2"))).status).toBe(200);
  });

  it("delay a request to the server, but not its response", async () => {
    world.network.inject({ fault: { kind: "late-request", milliseconds: 300 }, times: 1 });
    await expect(world.runUntil(get("/echo/1", { timeout: 299 }))).rejects.toThrow(HttpTimeout);
    expect(served).toEqual([]);
    await world.advance(1);
    expect(served).toEqual(["/1"]);
  });

  it("delay messages in both directions between two processes, until removed", async () => {
    const end = world.network.delay("server", "client", 200);
    await world.runUntil(get("/echo/1"));
    expect(client.clock.monotonic()).toBe(400);
    const endOther = world.network.delay("client", "server", 50);
    end();
    await world.runUntil(get("/echo/2"));
    expect(client.clock.monotonic()).toBe(500);
    endOther();
    await world.runUntil(get("/echo/3"));
    expect(client.clock.monotonic()).toBe(500);
  });

  it("let the server process a request twice", async () => {
    world.network.inject({ fault: { kind: "double" }, times: 1 });
    expect((await world.runUntil(get("/echo/1"))).status).toBe(200);
    expect(served).toEqual(["/1", "/1"]);
  });
});

describe("a partition", () => {
  it("in one direction lets the server act, and holds its response back", async () => {
    world.network.partition("server", "client", { oneWay: true });
    await expect(world.runUntil(get("/echo/a", { timeout: 500 }))).rejects.toThrow(HttpTimeout);
    expect(served).toEqual(["/a"]);
    world.network.heal("server", "client");
    expect((await world.runUntil(get("/echo/b"))).status).toBe(200);
  });

  it("holds requests back until it heals", async () => {
    world.network.partition("client", "server");
    await expect(world.runUntil(get("/echo/a", { timeout: 500 }))).rejects.toThrow(HttpTimeout);
    expect(served).toEqual([]);
    world.network.heal("server", "client");
    await world.advance(0);
    expect(served).toEqual(["/a"]);
  });

  it("holds frames back and delivers them in order, before later ones", async () => {
    const accepted: Socket[] = [];
    const listener = await server.servers.listen({
      port: 0,
      services: {},
      sockets: { "/ws": (socket) => void accepted.push(socket) },
    });
    const socket = await world.runUntil(client.sockets.connect(`${listener.url.replace("http", "ws")}/ws`));
    const received: string[] = [];
    accepted[0]?.onMessage((text) => received.push(text));
    world.network.latency = 10;
    world.network.partition("client", "server");
    socket.send("1");
    await world.advance(100);
    socket.send("2");
    expect([received, socket.bufferedBytes]).toEqual([[], 2]);
    world.network.heal("client", "server");
    socket.send("3");
    await world.advance(20);
    expect([received, socket.bufferedBytes]).toEqual([["1", "2", "3"], 0]);
  });

  it("differs from a break, which loses messages in transit and notifies both ends", async () => {
    world.network.latency = 5;
    const accepted: Socket[] = [];
    const listener = await server.servers.listen({
      port: 0,
      services: {},
      sockets: { "/ws": (socket) => void accepted.push(socket) },
    });
    const socket = await world.runUntil(client.sockets.connect(`${listener.url.replace("http", "ws")}/ws`));
    const events: string[] = [];
    accepted[0]?.onMessage((text) => events.push(text));
    accepted[0]?.onClose((code) => events.push(`server ${code}`));
    socket.onClose((code) => events.push(`client ${code}`));
    socket.send("lost");
    world.network.sever("server", "client");
    await world.advance(1_000);
    expect(events.toSorted()).toEqual(["client 1006", "server 1006"]);
  });

  it("hides from one end that the other is dead, until it heals", async () => {
    const ends: number[] = [];
    const listener = await server.servers.listen({
      port: 0,
      services: {},
      sockets: { "/ws": (socket) => void socket.onClose((code) => ends.push(code)) },
    });
    const socket = await world.runUntil(client.sockets.connect(`${listener.url.replace("http", "ws")}/ws`));
    world.network.partition("client", "server");
    socket.terminate();
    await world.advance(60_000);
    expect(ends).toEqual([]);
    world.network.heal("client", "server");
    await world.advance(0);
    expect(ends).toEqual([1006]);
  });
});

describe("the sockets of a killed process", () => {
  it("break with 1006 at the other end, and notify nothing in the killed one", async () => {
    const closeEvents: string[] = [];
    const listener = await server.servers.listen({
      port: 0,
      services: {},
      sockets: {
        "/ws": (socket) => {
          socket.onClose((code) => closeEvents.push(`server ${code}`));
          return undefined;
        },
      },
    });
    const socket = await world.runUntil(client.sockets.connect(`${listener.url.replace("http", "ws")}/ws`));
    socket.onClose((code) => closeEvents.push(`client ${code}`));
    client.kill();
    socket.send("from the grave");
    await world.advance(60_000);
    expect(closeEvents).toEqual(["server 1006"]);
  });
});
