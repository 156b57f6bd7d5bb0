import { nodeDigests } from "../../runtime/node/node-digests.js";
import type { Bytes } from "../../runtime/transfers.js";
import { ImageUnacceptable } from "../../virt/errors.js";
import type { ImageRecord } from "./image-record.js";

/** Counts and digests bytes that pass, to hold them against what the Image service says of them. */
export class TransferDigest {
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

  /** Once, after the last byte. @throws {ImageUnacceptable} */
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
