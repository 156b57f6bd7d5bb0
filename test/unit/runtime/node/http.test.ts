import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { openstackError } from "../../../../src/control-plane/http/responses.js";
import { HttpConnectFailure, HttpTimeout } from "../../../../src/runtime/http.js";
import { BYTES, type Listener, type ListenOptions, type ServiceRequest } from "../../../../src/runtime/http-server.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const { logger } = createVirtualRuntime();
const runtime = createNodeRuntime({ logger });
const listeners: Listener[] = [];

async function listen(options: Partial<ListenOptions>): Promise<Listener> {
  const listener = await runtime.servers.listen({ port: 0, services: {}, reject: openstackError, ...options });
  listeners.push(listener);
  return listener;
}

/** Sends raw bytes and returns the response, up to the end of the connection. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (part) => {
    received += part;
  });
  socket.on("error", () => {});
  socket.write(text);
  await once(socket, "close");
  return received;
}

const errorOf = (body: string) => JSON.parse(body.slice(body.indexOf("{"))).errors[0];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
});

describe("requests", () => {
  it("reach the service with the longest matching mount point, with complete data", async () => {
    const requests: ServiceRequest[] = [];
    const keep = (status: number) => (request: ServiceRequest) => {
      requests.push(request);
      return { status, headers: { "content-type": "text/plain", "x-made-by": "test" }, body: "straße" };
    };
    const { url } = await listen({
      services: { "": keep(200), "/placement": keep(202), "/placement/deep": keep(203) },
    });
    const response = await runtime.http.request({
      method: "POST",
      url: `${url}/placement/a%20b?q=1&q=%3F`,
      headers: { "x-name": "value" },
      body: "körper",
    });
    expect(response).toMatchObject({ status: 202, body: "straße" });
    expect(response.headers).toMatchObject({ "content-length": "7", "x-made-by": "test" });
    expect(requests[0]).toMatchObject({
      method: "POST",
      path: "/a%20b",
      query: "q=1&q=%3F",
      body: "körper",
      baseUrl: `${url}/placement`,
    });
    expect(requests[0]?.headers).toMatchObject({ "x-name": "value", "content-length": "7" });
    const statusOf = async (path: string) => (await runtime.http.request({ method: "GET", url: url + path })).status;
    expect(await statusOf("/placementless")).toBe(200);
    expect(await statusOf("/placement/deep")).toBe(203);
    expect(await statusOf("/placement")).toBe(202);
    expect(requests.map(({ path }) => path)).toEqual(["/a%20b", "/placementless", "", ""]);
  });

  it("without a body leave their connection open for the next one, however fast the response is", async () => {
    const { port } = await listen({ services: { "": ({ path }) => ({ status: 200, headers: {}, body: path }) } });
    const rawResponses = await raw(
      port,
      "GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    expect(rawResponses.match(/^connection: .*$/gim)).toEqual(["Connection: keep-alive", "Connection: close"]);
    expect(rawResponses).toMatch(/\/1HTTP\/1\.1 200 OK\r\n[\s\S]*\/2$/);
  });

  it("leave no listener and no timeout on a connection that stays open", async () => {
    const { url } = await listen({
      services: {
        "": async ({ bytes }) => {
          for await (const _ of bytes ?? []) {
            // Read the complete body.
          }
          return { status: 200, headers: {}, body: "read" };
        },
        "/pieces": () => ({ status: 200, headers: {}, body: "", pieces: ["in ", "pieces"] }),
        "/bytes": () => ({ status: 200, headers: {}, body: "", bytes: Readable.from([Buffer.from("bytes")]) }),
      },
    });
    const sockets = new Set<Socket>();
    const onRequest = (message: unknown) => sockets.add((message as { readonly socket: Socket }).socket);
    subscribe("http.server.request.start", onRequest);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (method: string, path: string, type?: string) => {
      const headers = type === undefined ? {} : { "content-type": type };
      const sent = httpRequest(url + path, { method, agent, headers }).end(type === undefined ? undefined : "body");
      const [response] = await once(sent, "response");
      response.resume();
      await once(response, "close");
    };
    const sendEachKind = async () => {
      await send("PUT", "/", BYTES);
      await send("PUT", "/", "application/json");
      await send("GET", "/pieces");
      await send("GET", "/bytes");
      await send("GET", "/");
    };
    const state = () =>
      [...sockets].map((socket) => ({
        timeout: socket.timeout,
        listeners: socket.eventNames().map((name) => [name, socket.listenerCount(name)]),
      }));
    await send("GET", "/");
    const first = state();
    expect(first).toHaveLength(1);
    for (let round = 0; round < 12; round += 1) {
      await sendEachKind();
    }
    expect(state()).toEqual(first);
    await send("PUT", "/", BYTES);
    expect(state()).toEqual(first);
    unsubscribe("http.server.request.start", onRequest);
    agent.destroy();
  });

  it("with responses in pieces are written no faster than the client reads, and not after it disconnects", async () => {
    const piece = "x".repeat(1024 * 1024);
    const count = 256;
    let taken = 0;
    /** A list that records how far it has been read for writing. */
    class Watched extends Array<string> {
      static override get [Symbol.species]() {
        return Array;
      }
      override slice(from?: number, to = 0): string[] {
        taken = to;
        return super.slice(from, to);
      }
    }
    const pieces = Watched.from(Array.from({ length: count }, () => piece));
    const { port } = await listen({
      services: {
        "": () => ({ status: 200, headers: {}, body: "", pieces }),
        "/other": () => ({ status: 200, headers: {}, body: "there" }),
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [first] = await once(socket, "data");
    socket.pause();
    expect(String(first)).toContain(`content-length: ${count * piece.length}\r\n`);
    const other = () => raw(port, "GET /other HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    expect(await other()).toContain("there");
    // Only what fits into the buffers of both sockets has been written.
    expect(taken).toBeLessThan(count / 2);
    socket.destroy();
    expect(await other()).toContain("there");
    expect(taken).toBeLessThan(count / 2);
  });

  it("get 404, 500 and bodiless responses in the right format", async () => {
    const { url } = await listen({
      services: {
        "/empty": () => ({ status: 204, headers: {}, body: "" }),
        "/broken": () => {
          throw new Error("defect");
        },
      },
    });
    const get = (path: string) => runtime.http.request({ method: "GET", url: url + path });
    expect(errorOf((await get("/none")).body)).toMatchObject({ status: 404, title: "Not Found" });
    expect(errorOf((await get("/broken")).body)).toMatchObject({ status: 500, title: "Internal Server Error" });
    const empty = await get("/empty");
    expect([empty.status, empty.body, empty.headers["content-length"]]).toEqual([204, "", undefined]);
  });

  it("get the reason as text from a listener without an error format", async () => {
    const listener = await runtime.servers.listen({ port: 0, services: {} });
    listeners.push(listener);
    const { url } = listener;
    const response = await runtime.http.request({ method: "GET", url });
    expect([response.status, response.headers["content-type"]]).toEqual([404, "text/plain; charset=utf-8"]);
    expect(response.body).toBe("nothing is served at this path\n");
  });

  it("are rejected with 413 when their body is too large, without reaching the service", async () => {
    let called = false;
    const services = {
      "": () => {
        called = true;
        return { status: 200, headers: {}, body: "" };
      },
    };
    const { url } = await listen({ services, limits: { bodyBytes: 100 } });
    const put = (bytes: number) => runtime.http.request({ method: "PUT", url, body: "x".repeat(bytes) });
    expect(errorOf((await put(101)).body)).toMatchObject({ status: 413, title: "Request Entity Too Large" });
    expect((await put(801)).status).toBe(413);
    expect(called).toBe(false);
    expect((await put(100)).status).toBe(200);
  });

  it("that are not HTTP get a JSON 400, which names content-length if that is invalid", async () => {
    const { port } = await listen({});
    const bad = await raw(port, "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n");
    expect(bad).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(errorOf(bad)).toMatchObject({ status: 400, title: "Bad Request" });
    expect(errorOf(bad).detail).toContain("content-length header must be an integer");
    expect(errorOf(await raw(port, "this is not HTTP\r\n\r\n")).detail).toContain("not well-formed HTTP");
    expect(await raw(port, `GET / HTTP/1.1\r\nx: ${"y".repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it("of clients that are too slow end with 408", async () => {
    const { port } = await listen({ limits: { headersTimeout: 50, requestTimeout: 50 } });
    const response = await raw(port, "GET / HTTP/1.1\r\nhost:");
    expect(response).toMatch(/^HTTP\/1\.1 408 /);
    expect(errorOf(response).title).toBe("Request Timeout");
    const body = await raw(port, "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc");
    expect(body).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe("the client", () => {
  it("distinguishes refused connections, broken responses and timeouts", async () => {
    let reached = () => {};
    const { url } = await listen({
      services: {
        "/hang": () => {
          reached();
          return new Promise(() => {});
        },
      },
    });
    const hanging = runtime.http.request({ method: "GET", url: `${url}/hang`, timeout: 50 });
    await expect(hanging).rejects.toThrow(HttpTimeout);
    const controller = new AbortController();
    const aborted = runtime.http.request({ method: "GET", url: `${url}/hang`, signal: controller.signal });
    controller.abort(new Error("not needed any more"));
    await expect(aborted).rejects.toThrow("not needed any more");
    const begun = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const cut = expect(runtime.http.request({ method: "GET", url: `${url}/hang` })).rejects.toThrow(HttpConnectFailure);
    await begun;
    await listeners[0]?.close(0);
    await cut;
    // A port without any listener. One that was closed a moment ago may be reused, or still reset connections.
    const rejectedRequest = runtime.http.request({ method: "GET", url: "http://127.0.0.1:1/" });
    await expect(rejectedRequest).rejects.toMatchObject({ name: "HttpConnectFailure", code: "ECONNREFUSED" });
  });

  it("cancels a request that waits for a connection, and does not send it later", async () => {
    let arrived: (request: { readonly path: string; readonly release: () => void }) => void = () => {};
    const next = () => new Promise<Parameters<typeof arrived>[0]>((resolve) => (arrived = resolve));
    const { url } = await listen({
      services: {
        "": async ({ path }) => {
          await new Promise<void>((release) => arrived({ path, release }));
          return { status: 200, headers: {}, body: "" };
        },
      },
    });
    const { http } = createNodeRuntime({ logger, connections: 1 });
    const ask = (path: string, timeout?: number) =>
      http.request({ method: "GET", url: `${url}${path}`, ...(timeout === undefined ? {} : { timeout }) });
    let request = next();
    const first = ask("/first");
    await expect(ask("/second", 5)).rejects.toThrow(HttpTimeout);
    const third = ask("/third");
    const { release } = await request;
    request = next();
    release();
    await first;
    const { path, release: releaseThird } = await request;
    expect(path).toBe("/third");
    releaseThird();
    await third;
    await http.close();
  });

  it("limits its connections to an origin and reuses them", async () => {
    let running = 0;
    let most = 0;
    const { url } = await listen({
      services: {
        "": async () => {
          running += 1;
          most = Math.max(most, running);
          await runtime.timers.sleep(1);
          running -= 1;
          return { status: 200, headers: {}, body: "" };
        },
      },
    });
    const { http } = createNodeRuntime({ logger, connections: 3 });
    const responses = await Promise.all(Array.from({ length: 30 }, () => http.request({ method: "GET", url })));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(most).toBe(3);
    await http.close();
  });
});

describe("a listener", () => {
  it("reports that its port is in use", async () => {
    const { port } = await listen({});
    await expect(listen({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("lets a running request complete when it closes", async () => {
    let started = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const listener = await listen({
      services: {
        "": async () => {
          started();
          await gate;
          return { status: 200, headers: {}, body: "in time" };
        },
      },
    });
    const request = runtime.http.request({ method: "GET", url: listener.url });
    await begun;
    const closing = listener.close(5_000);
    release();
    expect(await request).toMatchObject({ status: 200, body: "in time" });
    await closing;
    await expect(runtime.http.request({ method: "GET", url: listener.url })).rejects.toThrow(HttpConnectFailure);
  });
});
