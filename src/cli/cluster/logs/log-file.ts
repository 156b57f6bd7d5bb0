import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

interface Part {
  readonly path: string;
  readonly inode: number;
  readonly bytes: number;
  readonly changed: number;
}

/** Bytes that are read at a time. */
const CHUNK = 128 * 1024;
/** Bytes of a line, after which it is taken for two. */
const LONGEST_LINE = 1024 * 1024;

/** A log with the files that it was rotated into, `x.log.1` or `x.log-20261125`; compressed ones are passed over. */
export class LogFile {
  readonly #folder: string;
  readonly #name: string;
  /** Bytes of whole lines that were read, by the file's inode: that stays with what has another name now. */
  readonly #read = new Map<number, number>();
  #isFirst = true;

  /** @param stem of the file's name: `devstack1` */
  constructor(folder: string, stem: string) {
    this.#folder = folder;
    this.#name = `${stem}.log`;
  }

  /** The whole lines that were added since the last time, oldest first; a file that has become shorter is read from its start. */
  async *newLines(): AsyncGenerator<readonly string[]> {
    const parts = await this.#parts();
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    for (const inode of this.#read.keys()) {
      if (!parts.some((part) => part.inode === inode)) {
        this.#read.delete(inode);
      }
    }
    for (const part of parts) {
      const before = this.#read.get(part.inode);
      if (before === undefined && !isFirst && part.path !== join(this.#folder, this.#name)) {
        // A copy of what was read before its log was cut off.
        this.#read.set(part.inode, part.bytes);
        continue;
      }
      yield* this.#linesOf(part, before === undefined || part.bytes < before ? 0 : before);
    }
  }

  async *#linesOf({ path, inode, bytes }: Part, from: number): AsyncGenerator<readonly string[]> {
    this.#read.set(inode, from);
    if (from === bytes) {
      return;
    }
    const file = await open(path).catch(() => undefined);
    if (file === undefined) {
      return;
    }
    try {
      let rest: Buffer = Buffer.alloc(0);
      for (let at = from; at < bytes; ) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK), 0, Math.min(CHUNK, bytes - at), at);
        if (bytesRead === 0) {
          return;
        }
        at += bytesRead;
        const all = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        const end = all.length > LONGEST_LINE ? all.length : all.lastIndexOf("\n") + 1;
        rest = all.subarray(end);
        this.#read.set(inode, at - rest.length);
        if (end > 0) {
          yield all.subarray(0, end).toString().replace(/\n$/, "").split("\n");
        }
      }
    } finally {
      await file.close();
    }
  }

  async #parts(): Promise<readonly Part[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const found = await Promise.all(names.filter((name) => this.#isPart(name)).map((name) => this.#part(name)));
    return found.filter((part) => part !== undefined).toSorted((one, other) => one.changed - other.changed);
  }

  #isPart(name: string): boolean {
    return name === this.#name || (name.startsWith(this.#name) && /^[.-]\d[\d-]*$/.test(name.slice(this.#name.length)));
  }

  async #part(name: string): Promise<Part | undefined> {
    const path = join(this.#folder, name);
    const found = await stat(path).catch(() => undefined);
    // What is written to now comes last, also within the clock's tick.
    return found?.isFile()
      ? {
          path,
          inode: found.ino,
          bytes: found.size,
          changed: name === this.#name ? Number.POSITIVE_INFINITY : found.mtimeMs,
        }
      : undefined;
  }
}

/** The logs of a folder, by the stems of their names. */
export async function logStems(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const stems = names.map((name) => /^(.+)\.log(?:[.-]\d[\d-]*)?$/.exec(name)?.[1]);
  return [...new Set(stems.filter((stem) => stem !== undefined))].toSorted();
}
