import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { ReadTurns } from "../../../../src/runtime/node/read-turns.js";
import { createVirtualRuntime } from "../../../../src/simulation/create-virtual-runtime.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Takes more than a turn has for reads. */
function work(): void {
  const until = performance.now() + 2;
  while (performance.now() < until) {
    // The work.
  }
}

test("reads that come together wait when a turn's share is used up, in their order", async () => {
  const reads = new ReadTurns();
  const begun: number[] = [];
  for (const read of [1, 2, 3]) {
    reads.begin(() => {
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

test("reads that cost little share a turn, and all of them begin", async () => {
  const reads = new ReadTurns();
  let begun = 0;
  reads.begin(work);
  for (let read = 0; read < 100; read += 1) {
    reads.begin(() => {
      begun += 1;
    });
  }
  while (begun < 100) {
    await turn();
  }
  expect(begun).toBe(100);
});

test("a read that waits for something leaves the next its turn", async () => {
  const reads = new ReadTurns();
  const begun: number[] = [];
  reads.begin(() => {
    begun.push(1);
    void turn().then(() => reads.begin(() => void begun.push(3)));
  });
  reads.begin(() => void begun.push(2));
  while (begun.length < 3) {
    await turn();
  }
  expect(begun).toEqual([1, 2, 3]);
});

test("what changes something goes before the reads that came before it", async () => {
  const order: string[] = [];
  const { servers } = createNodeRuntime({ logger: createVirtualRuntime().logger });
  const listener = await servers.listen({
    port: 0,
    services: {
      "": ({ method, path }) => {
        order.push(`${method} ${path}`);
        work();
        return { status: 200, headers: {}, body: "" };
      },
    },
  });
  const sockets = Array.from({ length: 9 }, () => connect(listener.port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  // The server has taken each connection when it has answered on it.
  for (const socket of sockets) {
    socket.write("POST /first HTTP/1.1\r\nhost: x\r\n\r\n");
  }
  await Promise.all(sockets.map((socket) => once(socket, "data")));
  order.length = 0;
  // All are there before the server looks: it is in this process.
  for (const [index, socket] of sockets.entries()) {
    const method = index === 8 ? "POST" : "GET";
    socket.write(`${method} /${index} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  }
  await Promise.all(sockets.map((socket) => once(socket.resume(), "close")));
  await listener.close(0);
  expect(order).toHaveLength(9);
  expect(order[0]).toBe("POST /8");
  expect(order.filter((each) => each.startsWith("GET"))).toEqual(
    Array.from({ length: 8 }, (_, index) => `GET /${index}`),
  );
});
