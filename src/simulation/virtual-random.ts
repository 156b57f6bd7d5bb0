import type { Random } from "../runtime/cryptography.js";

const UINT32 = 2 ** 32;

/** Each byte as two hex digits. */
const OCTETS = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, "0"));

/** Derives all values from one seed. Not for secrets. The generator is sfc32, seeded by a hash of the string. */
export class VirtualRandom implements Random {
  readonly #state: Uint32Array;

  constructor(seed: string) {
    this.#state = hash(seed);
    for (let round = 0; round < 12; round += 1) {
      this.#uint32();
    }
  }

  next(): number {
    return ((this.#uint32() >>> 5) * 2 ** 26 + (this.#uint32() >>> 6)) / 2 ** 53;
  }

  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  uuid(): string {
    const hex = this.hex(16);
    const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `${variant}${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join("-");
  }

  hex(bytes: number): string {
    let text = "";
    while (text.length < bytes * 2) {
      const word = this.#uint32();
      for (let shift = 24; shift >= 0; shift -= 8) {
        text += OCTETS[(word >>> shift) & 0xff];
      }
    }
    return text.slice(0, bytes * 2);
  }

  /**
   * All sums are truncated to 32 bits at once: larger ones would become floating-point numbers, which are slow to
   * truncate.
   */
  #uint32(): number {
    const state = this.#state;
    const a = (state[0] ?? 0) | 0;
    const b = (state[1] ?? 0) | 0;
    const c = (state[2] ?? 0) | 0;
    const count = (state[3] ?? 0) | 0;
    const result = (((a + b) | 0) + count) | 0;
    state[0] = b ^ (b >>> 9);
    state[1] = (c + (c << 3)) | 0;
    state[2] = (((c << 21) | (c >>> 11)) + result) | 0;
    state[3] = (count + 1) | 0;
    return result >>> 0;
  }
}

/** Hashes a string to four words, by FNV-1a with four offsets. */
function hash(text: string): Uint32Array {
  const words = new Uint32Array(4);
  for (let word = 0; word < 4; word += 1) {
    let value = (0x811c9dc5 + word * 0x9e3779b9) % UINT32;
    for (let index = 0; index < text.length; index += 1) {
      value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
    }
    words[word] = value;
  }
  words[3] = 1;
  return words;
}
