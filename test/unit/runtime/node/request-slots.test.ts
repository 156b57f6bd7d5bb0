import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { RequestQueue } from "../../../../src/runtime/node/request-slots.js";
import type { Socket } from "../../../../src/runtime/sockets.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Opens connections. The server has accepted each one once it has responded on it. */
async function connected(port: number, count: number) {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) {
    socket.write("POST /first HTTP/1.1\r\nhost: x\r\n\r\n");
  }
  await Promise.all(sockets.map((socket) => once(socket, "data")));
  return sockets;
}

/** Takes longer than the slice of time for reads in one tick. */
function work(): void {
  const until = performance.now() + 2;
  while (performance.now() < until) {
    // Busy wait.
  }
}

test("reads that arrive at the same time wait in order when the time slice of a tick is used up", async () => {
  const queue = new RequestQueue();
  const begun: number[] = [];
  for (const read of [1, 2, 3]) {
    queue.read(() => {
      begun.push(read);
      work();
    });
  }
  expect(begun).toEqual([]);
  await turn();
  expect(begun).toEqual([1]);
  await turn();
  expect(begun).toEqual([1, 2]);
  await turn();
  expect(begun).toEqual([1, 2, 3]);
});

test("cheap reads share a tick, and all of them start", async () => {
  const queue = new RequestQueue();
  let begun = 0;
  queue.read(work);
  for (let read = 0; read < 100; read += 1) {
    queue.read(() => {
      begun += 1;
    });
  }
  while (begun < 100) {
    await turn();
  }
  expect(begun).toBe(100);
});

test("an asynchronous read lets the next one start", async () => {
  const queue = new RequestQueue();
  const begun: number[] = [];
  queue.read(() => {
    begun.push(1);
    void turn().then(() => queue.read(() => void begun.push(3)));
  });
  queue.read(() => void begun.push(2));
  while (begun.length < 3) {
    await turn();
  }
  expect(begun).toEqual([1, 2, 3]);
});

test("a tick starts one change and then a read, however many of either wait", async () => {
  const queue = new RequestQueue();
  const begun: string[] = [];
  for (const each of [1, 2, 3]) {
    queue.read(() => {
      begun.push(`read ${each}`);
      work();
    });
    queue.change(() => begun.push(`change ${each}`));
  }
  await turn();
  expect(begun).toEqual(["change 1", "read 1"]);
  await turn();
  await turn();
  expect(begun).toEqual(["change 1", "read 1", "change 2", "read 2", "change 3", "read 3"]);
});

test("changes without reads all start", async () => {
  const queue = new RequestQueue();
  const begun: number[] = [];
  for (const each of [1, 2, 3]) {
    queue.change(async () => begun.push(each));
  }
  while (begun.length < 3) {
    await turn();
  }
  expect(begun).toEqual([1, 2, 3]);
});

test("priority actions run before the waiting reads, and before those of the same slice", async () => {
  const queue = new RequestQueue();
  const order: string[] = [];
  queue.read(() => {
    order.push("first read");
    queue.goAhead(() => order.push("of the slice"));
  });
  queue.read(() => order.push("second read"));
  queue.goAhead(() => order.push("ahead"));
  while (order.length < 4) {
    await turn();
  }
  expect(order).toEqual(["ahead", "first read", "of the slice", "second read"]);
});

test("an agent's message is processed before the reads that arrived with it start", async () => {
  const { servers, sockets } = createNodeRuntime({ logger: createVirtualRuntime().logger });
  let agent: Socket | undefined;
  const observed: { readonly replied: boolean; readonly leftToSend: number }[] = [];
  let replied = false;
  const listener = await servers.listen({
    port: 0,
    services: {
      "": ({ method }) => {
        if (method === "GET") {
          observed.push({ replied, leftToSend: agent?.bufferedBytes ?? -1 });
          work();
        }
        return { status: 200, headers: {}, body: "" };
      },
    },
    sockets: {
      "/agents": (socket) => {
        agent = socket;
        socket.onMessage((text) => {
          replied = text === "message";
          socket.send("answer");
        });
        return undefined;
      },
    },
  });
  const connection = await sockets.connect(`${listener.url.replace("http", "ws")}/agents`);
  const clients = await connected(listener.port, 30);
  for (const client of clients) {
    client.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  }
  connection.send("message");
  await Promise.all(clients.map((client) => once(client.resume(), "close")));
  connection.terminate();
  await listener.close(0);
  expect(observed).toHaveLength(30);
  expect(observed).toEqual(observed.map(() => ({ replied: true, leftToSend: 0 })));
});

test("changes start before earlier reads, and low-priority requests after the others", async () => {
  const order: string[] = [];
  const { servers } = createNodeRuntime({ logger: createVirtualRuntime().logger });
  const serve = (name: string) => (request: { readonly method: string; readonly path: string }) => {
    order.push(`${request.method} ${name}${request.path}`);
    work();
    return { status: 200, headers: {}, body: "" };
  };
  const listener = await servers.listen({
    port: 0,
    services: { "/patient": serve("patient"), "": serve("") },
    isLowPriority: ({ method }, mount) => method === "GET" || mount === "/patient",
    sockets: { "/agents": () => undefined },
  });
  const sockets = await connected(listener.port, 10);
  order.length = 0;
  const requestLines = [...Array.from({ length: 8 }, (_, index) => `GET /${index}`), "DELETE /patient/8", "POST /9"];
  // All requests arrive before the server reads them, since it runs in this process.
  for (const [index, socket] of sockets.entries()) {
    socket.write(`${requestLines[index]} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  }
  await Promise.all(sockets.map((socket) => once(socket.resume(), "close")));
  await listener.close(0);
  expect(order).toEqual(["POST /9", "DELETE patient/8", ...requestLines.slice(0, 8)]);
});
