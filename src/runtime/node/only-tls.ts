import { randomUUID } from "node:crypto";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { RejectRequest } from "../rejection.js";
import { serializeResponse } from "./bad-request.js";

/** The first byte of a TLS connection: the record of a handshake. */
const HANDSHAKE = 22;

/**
 * Lets a server look at the first byte of each connection: a client that speaks plain HTTP is told so, where TLS itself would
 * only cut it off.
 * @param firstByteTimeoutMs milliseconds that a client may take for its first byte
 * @returns what cuts all connections, those too whose clients have not shaken hands
 */
export function onlyTls(server: Server, reject: RejectRequest, firstByteTimeoutMs: number): () => void {
  const open = new Set<Socket>();
  const shakeHands = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    const drop = () => socket.destroy();
    socket.setTimeout(firstByteTimeoutMs, drop);
    socket.on("error", drop);
    socket.once("close", () => open.delete(socket));
    socket.once("data", (start: Buffer) => {
      socket.setTimeout(0, drop);
      socket.off("timeout", drop);
      socket.pause();
      if (start[0] === HANDSHAKE) {
        socket.unshift(start);
        for (const take of shakeHands) {
          take.call(server, socket);
        }
        return;
      }
      const reason = "this port speaks TLS: ask it with https:// or wss://";
      socket.end(serializeResponse(reject({ status: 400, reason, requestId: `req-${randomUUID()}` })), drop);
    });
  });
  return () => {
    for (const socket of open) {
      socket.destroy();
    }
  };
}
