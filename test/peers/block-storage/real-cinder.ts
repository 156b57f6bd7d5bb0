import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PeerResponse } from "../differential/kinds.js";
import { fetchAgain, parseJson } from "../differential/send-request.js";
import { freePort } from "../placement/real-placement.js";

const run = promisify(execFile);

/** The scripts of a whole Cinder in one process, beside the checkout. */
const PEER = fileURLToPath(new URL("../../../../shared/peers/cinder/", import.meta.url));

export const HOW_TO_INSTALL =
  "the real Cinder is not installed; on Debian: apt-get install --no-install-recommends cinder-api cinder-scheduler " +
  "cinder-volume python3-cinder; its scripts are expected in ../shared/peers/cinder";

export function isInstalled(): boolean {
  return ["/usr/lib/python3/dist-packages/cinder/__init__.py", join(PEER, "up")].every((path) => existsSync(path));
}

export interface SentRequest {
  readonly method: string;
  /** Below the mount point: `/v3/...`, with the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RealCinder {
  /** @param token the name of the caller */
  send(request: SentRequest, token: string): Promise<PeerResponse>;
  /** Creates an image with 16 bytes in the Image service that it uses. */
  addImage(attributes: Readonly<Record<string, unknown>>): Promise<void>;
  stop(): Promise<void>;
}

/** The base of the links in responses. */
export const BASE = "http://volume.example";

/** Starts Debian's Cinder with devstack's type. What a request casts is done before the next request. */
export async function startRealCinder(): Promise<RealCinder> {
  const state = await mkdtemp(join(tmpdir(), "real-cinder-"));
  // The next port is that of its Image service.
  const port = await freePort();
  const stop = async () => {
    await run(join(PEER, "down"), [state]);
    await rm(state, { recursive: true, force: true });
  };
  try {
    await run(join(PEER, "up"), [state, String(port)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    send: async ({ method, path, body, headers = {} }, token) => {
      const response = await fetchAgain(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { "content-type": "application/json", "x-auth-token": token, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: parseJson(text.replaceAll(`http://127.0.0.1:${port}`, BASE)) };
    },
    addImage: async (attributes) => {
      const images = `http://127.0.0.1:${port + 1}/image/v2/images`;
      const send = (method: string, url: string, type: string, body: string) =>
        fetchAgain(url, { method, headers: { "content-type": type, "x-auth-token": "admin" }, body });
      const image = { disk_format: "raw", container_format: "bare", visibility: "public", ...attributes };
      await send("POST", images, "application/json", JSON.stringify(image));
      await send("PUT", `${images}/${String(attributes.id)}/file`, "application/octet-stream", "0123456789abcdef");
    },
  };
}
