import { afterEach, expect, it } from "vitest";
import type { Listener, ListenOptions } from "../../../../src/runtime/http-server.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import type { Runtime } from "../../../../src/runtime/runtime.js";
import { type Socket, UpgradeRejectedError } from "../../../../src/runtime/sockets.js";
import { createVirtualLogger } from "../../../../src/simulation/virtual-logger.js";

const open: { readonly runtime: Runtime; readonly listener: Listener }[] = [];

afterEach(async () => {
  for (const { runtime, listener } of open.splice(0)) {
    await listener.close(0);
    await runtime.http.close();
  }
});

async function listen(options: Partial<ListenOptions>) {
  const errors: unknown[] = [];
  const logger = createVirtualLogger((level, _message, { err }) => {
    if (level === "error") {
      errors.push(err);
    }
  });
  const runtime = createNodeRuntime({ logger });
  const services = { "": () => ({ status: 200, headers: {}, body: "alive" }) };
  const listener = await runtime.servers.listen({ port: 0, services, ...options });
  open.push({ runtime, listener });
  return { runtime, url: listener.url.replace("http", "ws"), alive: () => alive(runtime, listener), errors };
}

async function alive(runtime: Runtime, { url }: Listener): Promise<string> {
  return (await runtime.http.request({ method: "GET", url: `${url}/` })).body;
}

const closed = (socket: Socket): Promise<number> => new Promise((resolve) => socket.onClose(resolve));

it("an acceptor that throws rejects one connection, and the server continues", async () => {
  const defect = new Error("a defect of the acceptor");
  const { runtime, url, alive, errors } = await listen({
    sockets: {
      "/x": () => {
        throw defect;
      },
    },
  });
  const rejection = await runtime.sockets.connect(`${url}/x`).catch((error: unknown) => error);
  expect(rejection).toBeInstanceOf(UpgradeRejectedError);
  expect((rejection as UpgradeRejectedError).status).toBe(500);
  expect(await alive()).toBe("alive");
  expect(errors).toEqual([defect]);
});

it("a server listener that throws closes only that connection", async () => {
  const defect = new Error("a fraction of a millisecond in a lease");
  const ended: number[] = [];
  const { runtime, url, alive, errors } = await listen({
    sockets: {
      "/x": (socket) => {
        socket.onMessage((text) => {
          if (text === "bad") {
            throw defect;
          }
          socket.send(text);
        });
        socket.onClose((code) => {
          ended.push(code);
          throw defect;
        });
        return undefined;
      },
    },
  });
  const bystander = await runtime.sockets.connect(`${url}/x`);
  const socket = await runtime.sockets.connect(`${url}/x`);
  const end = closed(socket);
  socket.send("bad");
  expect(await end).toBe(1011);
  const reply = new Promise((resolve) => bystander.onMessage(resolve));
  bystander.send("still here?");
  expect(await reply).toBe("still here?");
  expect(await alive()).toBe("alive");
  expect(ended).toEqual([1011]);
  expect(errors).toEqual([defect, defect]);
  bystander.terminate();
});

it("a client listener that throws closes its connection, and the process continues", async () => {
  const defect = new Error("a defect of the client");
  const { runtime, url, errors } = await listen({
    sockets: {
      "/x": (socket) => {
        socket.onMessage((text) => socket.send(text));
        return undefined;
      },
    },
  });
  const socket = await runtime.sockets.connect(`${url}/x`);
  const end = closed(socket);
  socket.onMessage(() => {
    throw defect;
  });
  socket.send("to be sent back");
  expect(await end).toBe(1011);
  expect(errors).toEqual([defect]);
});
