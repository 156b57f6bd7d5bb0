import { setImmediate } from "node:timers";
import type { Files } from "../../runtime/files.js";
import type { Programs } from "../../runtime/processes.js";

/** Waits for a tick of the event loop, after which all ready callbacks have run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Tracks work that completes independently of the time, such as file accesses and messages in transit. */
export class Activity {
  #count = 0;
  #waiting: (() => void)[] = [];
  /** Resolves when new work may start; undefined if it may start now. */
  #held: Promise<void> | undefined;

  async during<T>(work: () => Promise<T>): Promise<T> {
    while (this.#held !== undefined) {
      await this.#held;
    }
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  /** Calls `action` in the next event-loop tick. Returns a cancel function. */
  soon(action: () => void): () => void {
    let isOver = false;
    const end = () => {
      if (!isOver) {
        isOver = true;
        this.#end();
      }
    };
    this.#count += 1;
    const planned = setImmediate(() => {
      try {
        action();
      } finally {
        end();
      }
    });
    return () => {
      clearImmediate(planned);
      end();
    };
  }

  /** Resolves when no work is in progress and ready callbacks have started none. */
  async quiet(): Promise<void> {
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      await turn();
    } while (this.#count > 0);
  }

  /** Runs `work` while no other work is in progress; new work waits for it. Calls run one after the other. */
  async atRest<T>(work: () => T): Promise<T> {
    while (this.#held !== undefined) {
      await this.#held;
    }
    let release: () => void = () => undefined;
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    try {
      await this.quiet();
      return work();
    } finally {
      this.#held = undefined;
      release();
    }
  }

  #end(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resume of waiting) {
        resume();
      }
    }
  }
}

/** Wraps files so that accesses count as activity. */
export function countedFiles(files: Files, activity: Activity): Files {
  return {
    read: (path) => activity.during(() => files.read(path)),
    readIfPresent: (path) => activity.during(() => files.readIfPresent(path)),
    // Only opening counts: the reader consumes the parts at its own pace.
    readBytes: (path) => activity.during(() => files.readBytes(path)),
    write: (path, text, options) => activity.during(() => files.write(path, text, options)),
    create: (path, text, options) => activity.during(() => files.create(path, text, options)),
    writeBytes: (path, bytes, options) => activity.during(() => files.writeBytes(path, bytes, options)),
    append: (path, text) => activity.during(() => files.append(path, text)),
    truncate: (path, bytes) => activity.during(() => files.truncate(path, bytes)),
    rename: (from, to) => activity.during(() => files.rename(from, to)),
    remove: (path) => activity.during(() => files.remove(path)),
    makeFolder: (path, options) => activity.during(() => files.makeFolder(path, options)),
    list: (path) => activity.during(() => files.list(path)),
    stat: (path) => activity.during(() => files.stat(path)),
    watch: (folder, listener) => files.watch(folder, listener),
  };
}

/** Wraps programs so that calls count as activity, except waiting for a program's end, which may take any time. */
export function countedPrograms(programs: Programs, activity: Activity): Programs {
  return {
    start: (options) => activity.during(() => programs.start(options)),
    run: (options) => activity.during(() => programs.run(options)),
    look: (pid) => activity.during(() => programs.look(pid)),
    signal: (process, signal) => activity.during(() => programs.signal(process, signal)),
    ended: (process, signal) => programs.ended(process, signal),
  };
}
