import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

const PYTHON = "/usr/bin/python3";
const SCRIPT = fileURLToPath(new URL("oslo_config_peer.py", import.meta.url));

/** The result of oslo.config for some files. */
export type OsloResult =
  | { readonly parse_error: string; readonly file: number }
  | { readonly values: Readonly<Record<string, { readonly value: unknown } | { readonly error: true }>> };

export const isOsloInstalled = (): boolean => spawnSync(PYTHON, ["-c", "import oslo_config.cfg"]).status === 0;

/** Debian's oslo.config in one long-lived process. */
export class OsloPeer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;
  readonly #ended: Promise<never>;
  #errors = "";

  constructor() {
    this.#child = spawn(PYTHON, ["-X", "utf8", SCRIPT]);
    this.#lines = createInterface(this.#child.stdout);
    this.#child.stderr.on("data", (part) => {
      this.#errors += part;
    });
    this.#ended = once(this.#child, "close").then(() => {
      throw new Error(`the peer ended: ${this.#errors}`);
    });
    // The next call of {@link read} reports the failure.
    this.#ended.catch(() => {});
  }

  /** Reads files. Only one call may be in progress. */
  async read(files: readonly string[]): Promise<OsloResult> {
    this.#child.stdin.write(`${JSON.stringify(files)}\n`);
    const [line] = await Promise.race([once(this.#lines, "line"), this.#ended]);
    return JSON.parse(line);
  }

  async close(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.stdin.end();
    await closed;
  }
}
