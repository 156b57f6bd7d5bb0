import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The peer's substitute for the Image service, which has records of images without bytes. */
const RECORDS = "http://127.0.0.1:18104";
const BYTES = /^(\/image\/v2\/images\/[^/]+)\/file$/;

/** Adds the missing storage of bytes to the peer's Image service. */
export class ImageStore {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #stored = new Map<string, Buffer>();

  private constructor(server: Server) {
    this.#server = server;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/image`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(502).end(String(error));
      });
    });
  }

  static async open(): Promise<ImageStore> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ImageStore(server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const body = Buffer.concat(await request.toArray());
    const record = BYTES.exec(url)?.[1];
    if (record === undefined) {
      const type = request.headers["content-type"];
      const headers = type === undefined ? {} : { "content-type": type };
      const upstreamResponse = await fetch(RECORDS + url, { method, headers, ...(body.length > 0 ? { body } : {}) });
      const content = Buffer.from(await upstreamResponse.arrayBuffer());
      response.writeHead(upstreamResponse.status, { "content-type": "application/json" }).end(content);
    } else if (method === "PUT") {
      response.writeHead(await this.#store(record, body)).end();
    } else {
      const bytes = this.#stored.get(record);
      response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
    }
  }

  /** Updates the image's record with the size and hashes of its bytes, as Glance does. */
  async #store(record: string, bytes: Buffer): Promise<number> {
    const hash = (algorithm: string) => createHash(algorithm).update(bytes).digest("hex");
    const attributes = {
      size: bytes.length,
      checksum: hash("md5"),
      os_hash_algo: "sha512",
      os_hash_value: hash("sha512"),
    };
    const changes = Object.entries(attributes).map(([name, value]) => ({ op: "replace", path: `/${name}`, value }));
    const { status } = await fetch(RECORDS + record, { method: "PATCH", body: JSON.stringify(changes) });
    if (status !== 200) {
      return status;
    }
    this.#stored.set(record, bytes);
    return 204;
  }
}
