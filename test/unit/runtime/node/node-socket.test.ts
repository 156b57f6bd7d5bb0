import { EventEmitter } from "node:events";
import { Writable } from "node:stream";
import { setImmediate as afterTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { quietLogger } from "../../../../src/cli/ui/logging.js";
import { NodeSocket } from "../../../../src/runtime/node/node-socket.js";
import { RequestQueue } from "../../../../src/runtime/node/request-slots.js";

/** Creates a WebSocket of ws over a stream that records the chunks of each write. */
function connection() {
  const handedOver: string[][] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      handedOver.push([chunk.toString()]);
      done();
    },
    writev: (chunks, done) => {
      handedOver.push(chunks.map(({ chunk }) => (chunk as Buffer).toString()));
      done();
    },
  });
  const ws = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    send: (text: string) => stream.write(text),
  }) as unknown as WebSocket;
  return { stream, ws, handedOver };
}

it("frames of one tick are written as a batch, and none waits for the next frame", async () => {
  const { stream, ws, handedOver } = connection();
  const socket = new NodeSocket(quietLogger);
  socket.send("early");
  socket.attach(ws, { stream, queue: new RequestQueue() });
  socket.send("one");
  await Promise.resolve();
  socket.send("two");
  expect(handedOver).toEqual([]);
  await afterTurn();
  expect(handedOver).toEqual([["early", "one", "two"]]);
  socket.send("three");
  await afterTurn();
  expect(handedOver.slice(1)).toEqual([["three"]]);
});

it("without a carrier stream, each frame is written immediately", () => {
  const { ws, handedOver } = connection();
  const socket = new NodeSocket(quietLogger);
  socket.attach(ws);
  socket.send("one");
  expect(handedOver).toEqual([["one"]]);
});
