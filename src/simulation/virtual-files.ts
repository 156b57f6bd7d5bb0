import { dirname } from "node:path";
import { FileFailure, type FileStat, type Files, type WriteOptions } from "../runtime/files.js";
import { type Bytes, bytesIn } from "../runtime/http.js";
import type { VirtualProcess } from "./virtual-process.js";

/** The files of a process on its machine's disk. Operations take effect when called; the result may be delayed. */
export class VirtualFiles implements Files {
  readonly #process: VirtualProcess;
  /** The time of the machine's clock. */
  readonly #now: () => number;

  constructor(process: VirtualProcess, now: () => number) {
    this.#process = process;
    this.#now = now;
  }

  async read(path: string): Promise<string> {
    return this.#do(path, () => {
      const text = this.#disk.read(path);
      if (text === undefined) {
        throw new FileFailure(path, "ENOENT", "read");
      }
      return text;
    });
  }

  async readIfPresent(path: string): Promise<string | undefined> {
    return this.#do(path, () => this.#disk.read(path));
  }

  async write(
    path: string,
    text: string,
    { mode = 0o644, unseen = false, fleeting = false }: WriteOptions = {},
  ): Promise<void> {
    await this.#do(path, () => {
      this.#assertNotFull(path, "write");
      if (unseen && !this.#disk.stat(dirname(path))) {
        throw new FileFailure(path, "ENOENT", "write");
      }
      this.#disk.write(path, text, mode, this.#now(), "write", unseen || fleeting ? this.#process.machine : undefined);
    });
    if (!fleeting) {
      this.#disk.sync(path);
    }
  }

  async create(path: string, text: string, options?: { readonly mode?: number }): Promise<void> {
    return this.#do(path, () => {
      if (this.#disk.stat(path)) {
        throw new FileFailure(path, "EEXIST", "create");
      }
      this.#assertNotFull(path, "create");
      this.#disk.write(path, text, options?.mode ?? 0o644, this.#now(), "create");
    });
  }

  async readBytes(path: string): Promise<Bytes> {
    const raw = await this.#do(path, () => this.#disk.readBytes(path));
    if (raw === undefined) {
      throw new FileFailure(path, "ENOENT", "read");
    }
    return partsOf(raw);
  }

  async writeBytes(
    path: string,
    bytes: Bytes,
    { mode = 0o644, signal }: { readonly mode?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<number> {
    const raw = await bytesIn(bytes);
    signal?.throwIfAborted();
    return this.#do(path, () => {
      this.#assertNotFull(path, "write");
      this.#disk.writeBytes(path, raw, mode, this.#now());
      return raw.length;
    });
  }

  async append(path: string, text: string): Promise<void> {
    return this.#do(path, () => {
      this.#assertNotFull(path, "append");
      const mode = this.#disk.stat(path)?.mode ?? 0o644;
      const { machine } = this.#process;
      this.#disk.write(path, (this.#disk.read(path) ?? "") + text, mode, this.#now(), "append", machine);
    });
  }

  async truncate(path: string, bytes: number): Promise<void> {
    return this.#do(path, () => this.#disk.resize(path, bytes, this.#now()));
  }

  async rename(from: string, to: string): Promise<void> {
    return this.#do(to, () => this.#disk.rename(from, to, this.#now()));
  }

  async remove(path: string): Promise<void> {
    return this.#do(path, () => this.#disk.remove(path, this.#now()));
  }

  async makeFolder(path: string, options?: { readonly mode?: number }): Promise<void> {
    return this.#do(path, () => {
      if (!this.#disk.stat(path)) {
        this.#assertNotFull(path, "make folder");
      }
      this.#disk.makeFolder(path, options?.mode ?? 0o755, this.#now());
    });
  }

  async list(path: string): Promise<string[]> {
    return this.#do(path, () => this.#disk.list(path));
  }

  async stat(path: string): Promise<FileStat | undefined> {
    return this.#do(path, () => this.#disk.stat(path));
  }

  watch(folder: string, listener: (names?: readonly string[]) => void): () => void {
    const changed = new Set<string>();
    let stopped = false;
    const stop = this.#disk.watch(folder, (name) => {
      const isScheduled = changed.size > 0;
      changed.add(name);
      if (isScheduled) {
        return;
      }
      this.#process.after(0, () => {
        const names = [...changed];
        changed.clear();
        if (!stopped) {
          listener(names);
        }
      });
    });
    const forget = this.#process.onKill(stop);
    return () => {
      stopped = true;
      forget();
      stop();
    };
  }

  get #disk() {
    return this.#process.machine.disk;
  }

  #do<T>(path: string, work: () => T): Promise<T> {
    return this.#process.withLatency(work, this.#disk.troubleAt(path)?.slow);
  }

  /** @throws {FileFailure} ENOSPC */
  #assertNotFull(path: string, operation: string): void {
    if (this.#disk.troubleAt(path)?.full) {
      throw new FileFailure(path, "ENOSPC", operation);
    }
  }
}

/** Bytes per part. Small, so that a reader gets several parts. */
const PART = 4096;

async function* partsOf(raw: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.length; at += PART) {
    yield raw.subarray(at, at + PART);
  }
}
