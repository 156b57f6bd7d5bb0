import { CONDUCTOR_PATH } from "../../../../src/conductor-client/wire.js";
import type { Socket } from "../../../../src/runtime/sockets.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import {
  type InProcessConductor,
  type InProcessConductorOptions,
  JOIN_TOKEN,
  startInProcessConductor,
} from "../../../fixtures/in-process-conductor.js";

const BOOT = "00000000-0000-4000-8000-00000000b007";

/** A client that sends arbitrary frames. */
export interface RawClient {
  readonly world: VirtualWorld;
  readonly cluster: InProcessConductor;
  readonly socket: Socket;
  /** Parsed responses. */
  readonly received: unknown[];
  readonly closed: { code: number; reason: string }[];
  /** Sends a frame and returns the responses to it. */
  send(frame: unknown): Promise<unknown[]>;
  /** Sends a JSON-RPC call and returns its response. */
  call(id: unknown, method: string, params: unknown, meta?: unknown): Promise<unknown>;
}

export async function rawClient(
  options: InProcessConductorOptions & { readonly hello?: boolean } = {},
): Promise<RawClient> {
  const world = new VirtualWorld();
  const cluster = await startInProcessConductor(world, options);
  const runtime = world.spawn({ name: "raw-client" });
  const url = `${cluster.url.replace("http", "ws")}${CONDUCTOR_PATH}`;
  const headers = { authorization: `Bearer ${JOIN_TOKEN}` };
  const socket = await world.runUntil(runtime.sockets.connect(url, { headers }));
  const received: unknown[] = [];
  const closed: RawClient["closed"] = [];
  socket.onMessage((text) => received.push(JSON.parse(text)));
  socket.onClose((code, reason) => closed.push({ code, reason }));
  const send = async (frame: unknown) => {
    const before = received.length;
    socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
    await world.advance(1);
    return received.slice(before);
  };
  const call = async (id: unknown, method: string, params: unknown, meta?: unknown) =>
    (await send({ jsonrpc: "2.0", id, method, params, ...(meta === undefined ? {} : { meta }) }))[0];
  const client = { world, cluster, socket, received, closed, send, call };
  if (options.hello ?? true) {
    await call("hello", "session_hello", { protocol: 1, bootId: BOOT, pid: 1, machine: "m", version: "test" });
  }
  return client;
}
