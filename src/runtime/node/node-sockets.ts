import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { HttpConnectFailure } from "../http.js";
import { CLIENT_FRAME_BYTES } from "../http-server.js";
import type { Logger } from "../runtime.js";
import { type Socket, type Sockets, UpgradeRejectedError } from "../sockets.js";
import { NodeSocket } from "./node-socket.js";
import { connectOptions, type HttpTls, type TrustedServers } from "./undici-http-client.js";

/** Timeout in milliseconds for connecting including the opening handshake. */
const HANDSHAKE_TIMEOUT = 10_000;

/** Max bytes of a rejection's body that are read. */
const MAX_REJECTION_BYTES = 64 * 1024;

/** @param trusted servers that are not verified against the system's CAs */
export function nodeSockets(logger: Logger, trusted: TrustedServers = new Map()): Sockets {
  return {
    connect: (url, options) => {
      const tls = trusted.get(new URL(url.replace(/^ws/, "http")).origin);
      return connect(url, logger, { ...options, ...(tls === undefined ? {} : { tls }) });
    },
  };
}

async function connect(
  url: string,
  logger: Logger,
  options: Parameters<Sockets["connect"]>[1] & { readonly tls?: HttpTls },
): Promise<Socket> {
  const { headers = {}, signal, tls } = options;
  signal?.throwIfAborted();
  const ws = new WebSocket(url, {
    headers: { ...headers },
    perMessageDeflate: false,
    maxPayload: CLIENT_FRAME_BYTES,
    handshakeTimeout: HANDSHAKE_TIMEOUT,
    ...(tls === undefined ? {} : connectOptions(tls)),
  });
  const abort = () => ws.terminate();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await waitUntilOpen(ws, url, logger);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

async function waitUntilOpen(ws: WebSocket, url: string, logger: Logger): Promise<Socket> {
  return new Promise((resolve, reject) => {
    ws.once("open", () => {
      // Attached synchronously, so that no frame that follows the handshake is lost.
      const socket = new NodeSocket(logger);
      socket.attach(ws);
      resolve(socket);
    });
    ws.once("unexpected-response", (_request, response) => {
      void readRejection(response).then((body) => {
        reject(new UpgradeRejectedError(url, response.statusCode ?? 0, body));
        ws.terminate();
      });
    });
    ws.on("error", (error) => {
      const code = "code" in error && error.code ? String(error.code) : error.message;
      reject(new HttpConnectFailure(url, code, { cause: error }));
    });
  });
}

async function readRejection(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const part of response) {
      text += part;
      if (text.length > MAX_REJECTION_BYTES) {
        break;
      }
    }
  } catch {
    // The body was cut off. Return the part that arrived.
  }
  return text.slice(0, MAX_REJECTION_BYTES);
}
