import type { PlacementAccess } from "../placement-client/access/placement-access.js";
import { isPlacementError } from "../placement-client/errors.js";
import { asRecord, parseJson } from "../placement-client/json.js";
import { type Bytes, bytesOf, hasNoResponse, type TransferResponse, type Transfers, textIn } from "../runtime/http.js";
import { BYTES } from "../runtime/http-server.js";
import { nodeDigests } from "../runtime/node/node-cryptography.js";
import type { Timers } from "../runtime/time.js";
import {
  GlanceConnectionFailed,
  ImageNotActive,
  ImageNotFound,
  ImageServiceNotFound,
  ImageUnacceptable,
} from "../virt/errors.js";
import type { ImageData, ImageService, UploadOptions } from "../virt/types.js";
import { ignore } from "./ignore-errors.js";

/** The fields of an image record that the agent reads. */
interface ImageRecord {
  readonly status: string;
  /** In bytes. */
  readonly size: number | null;
  readonly diskFormat: string | null;
  /** MD5, hex. */
  readonly checksum: string | null;
  /** SHA-512, hex. */
  readonly hash: string | null;
}

/** Counts and digests the bytes of a transfer, to compare them with the size and hashes of the image record. */
class TransferDigest {
  begun = false;
  readonly #md5 = nodeDigests.running("md5");
  readonly #sha512 = nodeDigests.running("sha512");
  #size = 0;

  async *over(bytes: Bytes): AsyncGenerator<Uint8Array> {
    this.begun = true;
    for await (const part of bytes) {
      this.#size += part.length;
      this.#md5.update(part);
      this.#sha512.update(part);
      yield part;
    }
  }

  /** Compares size and digests with the record. Call once, after the last byte. @throws {ImageUnacceptable} */
  assertMatches(id: string, { size, hash, checksum }: Pick<ImageRecord, "size" | "hash" | "checksum">): void {
    const differs = (what: string, found: string | number, expected: string | number): never => {
      throw new ImageUnacceptable(`Image ${id} is unacceptable: found ${what} ${found}, expected ${expected}`);
    };
    if (size !== null && size !== this.#size) {
      differs("size", this.#size, size);
    }
    const [sha512, md5] = [this.#sha512.hex(), this.#md5.hex()];
    if (hash !== null && hash !== sha512) {
      differs("sha512", sha512, hash);
    }
    if (hash === null && checksum !== null && checksum !== md5) {
      differs("md5", md5, checksum);
    }
  }
}

export interface GlanceOptions {
  readonly transfers: Transfers;
  readonly timers: Timers;
  readonly access: PlacementAccess;
  /** `[glance] num_retries` */
  readonly retries: number;
}

interface GlanceRequest {
  readonly method: "GET" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly type?: string;
  /** Creates the body again for each attempt. */
  readonly body?: () => Bytes;
  /** Returns whether the request may be sent again now; default: yes. */
  readonly again?: () => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The delay before a retry, in milliseconds, as in Nova. */
const RETRY_DELAY_MS = 1000;

/** The max length of a response that is not an image, in characters. */
const MAX_TEXT_LENGTH = 1024 ** 2;

/** Client of the Image service's API v2, as far as an agent needs it. Streams the bytes. */
export class GlanceClient implements ImageService {
  readonly #options: GlanceOptions;

  constructor(options: GlanceOptions) {
    this.#options = options;
  }

  /** See {@link Image.open}. */
  async open(id: string, signal: AbortSignal): Promise<ImageData | null> {
    const image = await this.#get(id, signal);
    if (image.status !== "active") {
      throw new ImageNotActive(`image ${id} is ${image.status}, expected active: its upload is not complete`);
    }
    const response = await this.#ask({ method: "GET", path: pathOf(id, "/file"), signal });
    if (response.status === 204) {
      return null;
    }
    await expectStatus(response, [200], `the bytes of image ${id}`);
    const { size, diskFormat, hash } = image;
    const bytes = checked(id, response.body, image);
    return { size: size ?? 0, diskFormat: diskFormat ?? "raw", hash, bytes };
  }

  /** See {@link SnapshotOptions.upload}. */
  async upload(id: string, bytes: Bytes, options: UploadOptions, signal: AbortSignal): Promise<void> {
    await this.#describe(id, options, signal);
    const digest = new TransferDigest();
    const body = digest.over(bytes);
    // A stream can be read once only: after its first byte was sent, the request cannot be repeated.
    const sent = { type: BYTES, body: () => body, again: () => !digest.begun };
    const response = await this.#ask({ method: "PUT", path: pathOf(id, "/file"), ...sent, signal });
    await expectStatus(response, [204], `storing the bytes of image ${id}`);
    const stored = await this.#get(id, signal);
    if (stored.status !== "active") {
      throw new GlanceConnectionFailed(`image ${id} is ${stored.status} after its bytes were sent, expected active`);
    }
    digest.assertMatches(id, stored);
  }

  /** Removes an image; a missing one is no error. */
  async remove(id: string): Promise<void> {
    const response = await this.#ask({ method: "DELETE", path: pathOf(id) });
    await expectStatus(response, [204, 404, 410], `deleting image ${id}`);
  }

  /** Removes an image unless its upload has completed. */
  async removeUnfinished(id: string): Promise<void> {
    const image = await this.#get(id).catch(ignore(ImageNotFound));
    if (image && image.status !== "active") {
      await this.remove(id);
    }
  }

  async #get(id: string, signal?: AbortSignal): Promise<ImageRecord> {
    const response = await this.#ask({ method: "GET", path: pathOf(id), signal });
    return readImage(await expectStatus(response, [200], `image ${id}`));
  }

  async #describe(id: string, { diskFormat, containerFormat }: UploadOptions, signal: AbortSignal): Promise<void> {
    const changes = [
      ...(diskFormat === undefined ? [] : [{ op: "replace", path: "/disk_format", value: diskFormat }]),
      ...(containerFormat === undefined ? [] : [{ op: "replace", path: "/container_format", value: containerFormat }]),
    ];
    if (changes.length === 0) {
      return;
    }
    const type = "application/openstack-images-v2.1-json-patch";
    const body = () => bytesOf(JSON.stringify(changes));
    const response = await this.#ask({ method: "PATCH", path: pathOf(id), type, body, signal });
    await expectStatus(response, [200], `image ${id}`);
  }

  /** @throws {GlanceConnectionFailed} {@link ImageServiceNotFound} and any error of the body */
  async #ask(request: GlanceRequest): Promise<TransferResponse> {
    const { transfers, timers, access, retries } = this.#options;
    let renewed = false;
    for (let failed = 0; ; ) {
      const { endpoint, headers } = await this.#credentials(request.signal);
      const { method, path, type, body, again = () => true, signal } = request;
      try {
        const response = await transfers.send({
          method,
          tlsSection: "glance",
          url: `${endpoint.replace(/\/v2$/, "")}${path}`,
          headers: { ...headers, accept: "*/*", ...(type === undefined ? {} : { "content-type": type }) },
          ...(body === undefined ? {} : { body: body() }),
          ...(signal === undefined ? {} : { signal }),
        });
        if (response.status === 401 && !renewed && again()) {
          await textIn(response.body, MAX_TEXT_LENGTH);
          renewed = true;
          access.expire();
          continue;
        }
        if (response.status !== 503 || failed >= retries || !again()) {
          return response;
        }
        await textIn(response.body, MAX_TEXT_LENGTH);
      } catch (error) {
        if (!hasNoResponse(error)) {
          throw error;
        }
        if (failed >= retries || !again()) {
          throw failure(endpoint, error);
        }
      }
      failed += 1;
      await timers.sleep(RETRY_DELAY_MS, signal);
    }
  }

  async #credentials(signal: AbortSignal | undefined) {
    try {
      return await this.#options.access.credentials(signal);
    } catch (error) {
      if (isPlacementError(error, "EndpointNotFound")) {
        throw new ImageServiceNotFound(`there is no Image service: ${error.message}`, { cause: error });
      }
      if (isPlacementError(error, "PlacementAPIConnectFailure")) {
        throw new GlanceConnectionFailed(`cannot get credentials for the Image service: ${error.message}`, {
          cause: error,
        });
      }
      throw error;
    }
  }
}

function pathOf(id: string, more = ""): string {
  return `/v2/images/${encodeURIComponent(id)}${more}`;
}

async function* checked(id: string, body: Bytes, image: ImageRecord): AsyncGenerator<Uint8Array> {
  const digest = new TransferDigest();
  try {
    yield* digest.over(body);
  } catch (error) {
    throw hasNoResponse(error) ? failure(error.url, error) : error;
  }
  digest.assertMatches(id, image);
}

function failure(server: string, cause: Error): GlanceConnectionFailed {
  return new GlanceConnectionFailed(`Connection to glance host ${server} failed: ${cause.message}`, { cause });
}

/** Returns the text of the response. @throws {ImageNotFound} {@link GlanceConnectionFailed} */
async function expectStatus(response: TransferResponse, statuses: readonly number[], what: string): Promise<string> {
  if (statuses.includes(response.status)) {
    return response.status === 200 && response.headers["content-type"]?.startsWith(BYTES)
      ? ""
      : textIn(response.body, MAX_TEXT_LENGTH);
  }
  const text = (await textIn(response.body, MAX_TEXT_LENGTH))
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (response.status === 404) {
    throw new ImageNotFound(`${what}: the Image service has no such image`);
  }
  throw new GlanceConnectionFailed(
    `${what}: the Image service responded with ${response.status}: ${text.slice(0, 200)}`,
  );
}

function readImage(text: string): ImageRecord {
  const image = asRecord(parseJson(text));
  const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);
  return {
    status: String(image.status),
    size: typeof image.size === "number" ? image.size : null,
    diskFormat: textOrNull(image.disk_format),
    checksum: textOrNull(image.checksum),
    hash: image.os_hash_algo === "sha512" ? textOrNull(image.os_hash_value) : null,
  };
}
