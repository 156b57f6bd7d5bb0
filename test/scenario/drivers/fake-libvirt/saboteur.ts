import type { Files } from "../../../../src/virt/index.js";

/** Counts calls; the one numbered `fatal` fails and, if it is a kill, all that follow do. */
export class Saboteur {
  calls = 0;
  armed = false;
  readonly #fatal: number;
  readonly #kill: boolean;

  constructor(fatal: number, kill: boolean) {
    this.#fatal = fatal;
    this.#kill = kill;
  }

  over(files: Files): Files {
    const guard = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.armed) {
        this.calls += 1;
        if (this.calls === this.#fatal || (this.#kill && this.calls > this.#fatal)) {
          throw new Error("EIO");
        }
      }
      return work();
    };
    return {
      read: (path) => guard(() => files.read(path)),
      readIfPresent: (path) => guard(() => files.readIfPresent(path)),
      readBytes: (path) => guard(() => files.readBytes(path)),
      writeBytes: (path, bytes, options) => guard(() => files.writeBytes(path, bytes, options)),
      write: (path, text, options) => guard(() => files.write(path, text, options)),
      create: (path, text, options) => guard(() => files.create(path, text, options)),
      append: (path, text) => guard(() => files.append(path, text)),
      truncate: (path, bytes) => guard(() => files.truncate(path, bytes)),
      rename: (from, to) => guard(() => files.rename(from, to)),
      remove: (path) => guard(() => files.remove(path)),
      makeFolder: (path, options) => guard(() => files.makeFolder(path, options)),
      list: (path) => guard(() => files.list(path)),
      stat: (path) => guard(() => files.stat(path)),
      watch: () => () => {},
    };
  }
}
