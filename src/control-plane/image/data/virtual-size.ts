/** `QFI\xfb` */
const QCOW2 = 0x51_46_49_fb;

/** Bytes of a qcow2's header up to the end of the disk's size. */
const HEADER = 32;

/** Finds out the size of the disk that bytes make, by their first ones. */
export class VirtualSize {
  readonly #head = new Uint8Array(HEADER);
  #length = 0;

  update(part: Uint8Array): void {
    if (this.#length < HEADER) {
      const headerPart = part.subarray(0, HEADER - this.#length);
      this.#head.set(headerPart, this.#length);
      this.#length += headerPart.length;
    }
  }

  /** Null: it is not known of this format. @param size of all bytes */
  of(diskFormat: string | null, size: number): number | null {
    if (diskFormat === "raw") {
      return size;
    }
    const view = new DataView(this.#head.buffer);
    if (diskFormat !== "qcow2" || this.#length < HEADER || view.getUint32(0) !== QCOW2) {
      return null;
    }
    const bytes = view.getBigUint64(24);
    return bytes <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bytes) : null;
  }
}
