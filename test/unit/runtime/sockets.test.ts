import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpConnectFailure } from "../../../src/runtime/http.js";
import type { Listener, SocketAcceptor } from "../../../src/runtime/http-server.js";
import { type Socket, UpgradeRejectedError } from "../../../src/runtime/sockets.js";
import { type Bench, benches } from "./both-runtimes.js";

const wsUrl = (listener: Listener, path: string) => `${listener.url.replace("http", "ws")}${path}`;

function closeOf(socket: Socket) {
  return new Promise<[number, string]>((resolve) => socket.onClose((code, reason) => resolve([code, reason])));
}

function messages(socket: Socket, count: number) {
  return new Promise<string[]>((resolve) => {
    const received: string[] = [];
    socket.onMessage((text) => {
      received.push(text);
      if (received.length === count) {
        resolve(received);
      }
    });
  });
}

describe.each(benches)("sockets (%s)", (_name, openBench) => {
  let bench: Bench;
  let listener: Listener;
  let accepted: Socket[];
  let rejectionReason: ReturnType<SocketAcceptor>;
  let upgrades: Parameters<SocketAcceptor>[1][];

  beforeEach(async () => {
    bench = await openBench();
    accepted = [];
    upgrades = [];
    rejectionReason = undefined;
    const accept: SocketAcceptor = (socket, upgrade) => {
      accepted.push(socket);
      upgrades.push(upgrade);
      socket.send("welcome");
      return rejectionReason;
    };
    listener = await bench.runtime.servers.listen({
      port: 0,
      services: {},
      sockets: { "/agents": accept },
      limits: { frameBytes: 1000 },
    });
  });

  afterEach(async () => {
    await bench.run(listener.close(0));
    await bench.dispose();
  });

  const connect = () =>
    bench.run(bench.runtime.sockets.connect(wsUrl(listener, "/agents?host=a"), { headers: { "x-token": "t" } }));

  const serverSide = (): Socket => {
    const [socket] = accepted;
    if (!socket) {
      throw new Error("nothing was accepted");
    }
    return socket;
  };

  it("transfer frames in both directions in order, and queue those that arrive before the first listener", async () => {
    const socket = await connect();
    for (const text of ["one", "two", "drei ß"]) {
      socket.send(text);
    }
    expect(await bench.run(messages(serverSide(), 3))).toEqual(["one", "two", "drei ß"]);
    serverSide().send("answer");
    expect(await bench.run(messages(socket, 2))).toEqual(["welcome", "answer"]);
    expect(upgrades[0]?.query).toBe("host=a");
    expect(upgrades[0]?.headers["x-token"]).toBe("t");
  });

  it("report the code and reason of a close to both ends, once; later frames are dropped", async () => {
    const socket = await connect();
    const ends = Promise.all([closeOf(socket), closeOf(serverSide())]);
    serverSide().close(4000, "superseded");
    serverSide().close(4001, "again");
    serverSide().send("too late");
    expect(await bench.run(ends)).toEqual([
      [4000, "superseded"],
      [4000, "superseded"],
    ]);
    expect(await bench.run(closeOf(socket))).toEqual([4000, "superseded"]);
    socket.send("nobody hears this");
  });

  it("break with 1006 at both ends when one terminates them", async () => {
    const socket = await connect();
    const ends = Promise.all([closeOf(socket), closeOf(serverSide())]);
    socket.terminate();
    expect(await bench.run(ends)).toEqual([
      [1006, ""],
      [1006, ""],
    ]);
  });

  it("respond to pings", async () => {
    const socket = await connect();
    const pong = new Promise<string>((resolve) => socket.onPong(() => resolve("pong")));
    socket.ping();
    expect(await bench.run(pong)).toBe("pong");
  });

  it("close with 1009 when a frame exceeds the listener's limit", async () => {
    const socket = await connect();
    const ends = Promise.all([closeOf(socket), closeOf(serverSide())]);
    socket.send("x".repeat(1001));
    const [[clientCode], [serverCode]] = await bench.run(ends);
    expect([clientCode, serverCode]).toEqual([1009, 1006]);
  });

  it("are rejected with 401 and the acceptor's reason, and the rejected socket is closed", async () => {
    rejectionReason = "unknown join token";
    await expect(connect()).rejects.toMatchObject({
      name: "UpgradeRefused",
      status: 401,
      message: expect.stringContaining("unknown join token"),
    });
    expect(await bench.run(closeOf(serverSide()))).toEqual([1006, ""]);
    serverSide().send("nobody");
  });

  it("are rejected with 404 at an unknown path", async () => {
    const wrong = bench.run(bench.runtime.sockets.connect(wsUrl(listener, "/nobody")));
    await expect(wrong).rejects.toThrow(UpgradeRejectedError);
    await expect(wrong).rejects.toMatchObject({ status: 404 });
  });

  it("fail to connect where there is no listener", async () => {
    await bench.run(listener.close(0));
    await expect(connect()).rejects.toThrow(HttpConnectFailure);
  });

  it("are closed with 1001 when the listener closes", async () => {
    const socket = await connect();
    const end = closeOf(socket);
    await bench.run(listener.close());
    expect((await bench.run(end))[0]).toBe(1001);
  });

  it("are not opened when the signal is aborted", async () => {
    const controller = new AbortController();
    const opening = bench.runtime.sockets.connect(wsUrl(listener, "/agents"), { signal: controller.signal });
    controller.abort(new Error("changed my mind"));
    await expect(bench.run(opening)).rejects.toThrow("changed my mind");
  });
});
