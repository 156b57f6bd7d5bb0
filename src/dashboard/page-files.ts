import { join } from "node:path";
import type { Digests } from "../runtime/cryptography.js";
import type { Files } from "../runtime/files.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";

const TYPES: Readonly<Record<string, string>> = {
  "app.css": "text/css; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "index.html": "text/html; charset=utf-8",
};

interface Held {
  readonly text: string;
  readonly etag: string;
}

/** The files of the page, which the build has made: read when they are asked for the first time, and held from then on. */
export class PageFiles {
  readonly #folder: string;
  readonly #files: Pick<Files, "readIfPresent">;
  readonly #digests: Pick<Digests, "sha256">;
  readonly #held = new Map<string, Promise<Held | undefined>>();

  constructor(folder: string, files: Pick<Files, "readIfPresent">, digests: Pick<Digests, "sha256">) {
    this.#folder = folder;
    this.#files = files;
    this.#digests = digests;
  }

  /** Undefined: there is no such file. */
  async handle(name: string, { headers, method }: ServiceRequest): Promise<ServiceResponse | undefined> {
    const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (type === undefined || (method !== "GET" && method !== "HEAD")) {
      return undefined;
    }
    const reading = this.#held.get(name) ?? this.#read(name);
    this.#held.set(name, reading);
    const held = await reading;
    if (held === undefined) {
      this.#held.delete(name);
      return undefined;
    }
    const about = { "content-type": type, etag: held.etag, "cache-control": "no-cache", vary: "accept" };
    return headers["if-none-match"] === held.etag
      ? { status: 304, headers: about, body: "" }
      : { status: 200, headers: about, body: held.text };
  }

  async #read(name: string): Promise<Held | undefined> {
    const text = await this.#files.readIfPresent(join(this.#folder, name));
    return text === undefined ? undefined : { text, etag: `"${this.#digests.sha256(text).slice(0, 32)}"` };
  }
}
