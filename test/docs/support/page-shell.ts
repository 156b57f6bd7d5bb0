import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../process/support/program.js";

/**
 * npm without its registry: the checkout has its packages, and those that a new driver names are linked to the checkout's.
 * Everything else is npm's.
 */
const NPM = `#!/bin/sh
case "$*" in
  ci) exit 0 ;;
  install)
    mkdir -p node_modules/.bin
    for name in typescript vitest @types; do ln -sfn "${PACKAGE_ROOT}/node_modules/$name" "node_modules/$name"; done
    ln -sfn "${PACKAGE_ROOT}" node_modules/compute-agent
    for name in tsc vitest; do ln -sf "${PACKAGE_ROOT}/node_modules/.bin/$name" "node_modules/.bin/$name"; done
    ln -sf "${PACKAGE_ROOT}/dist/bin/compute-agent.js" node_modules/.bin/compute-agent ;;
  *) exec "${join(process.execPath, "../npm")}" "$@" ;;
esac
`;

/** The result of one command line. */
export interface CommandResult {
  readonly status: number;
  /** Both streams. */
  readonly output: string;
}

/** A command that goes on until it is interrupted: a reader has a terminal for it. */
const SERVES =
  /^(?:npm ci && )?(?:npm start|(?:npx )?(?:compute-agent|compute-cluster) (?:up|record|placement|control-plane|--host|--config-file))\b/;
const RETURNS = /--(?:detach|check|dry-run|show-config|help|json)\b|placement (?:heal|audit)/;
/** The output that shows that `up`, `record`, an agent, a control plane or a stand-alone Placement is serving. */
const READY =
  /Ctrl-C (?:stops all of it|ends it)|hosts? \S+ (?:is|are) serving|\d+ of \d+ hosts serve|ready at|listening on/;

/** Milliseconds that a command, or the start of one that serves, may take. */
const COMMAND_TIMEOUT_MS = 120_000;
const POLL_INTERVAL_MS = 50;

/**
 * A reader's shell in a fresh folder, with this package as `npm install` would put it there. Processes and network are of
 * namespaces of its own, so that pages can use the same ports, and nothing outlives the shell. Linux alone.
 */
export class PageShell {
  readonly folder: string;
  readonly #bash: ChildProcess;
  readonly #exited: Promise<unknown>;
  #output = "";
  #commands = 0;
  #terminals = 0;

  private constructor(folder: string) {
    this.folder = folder;
    const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
    const namespaces = [...user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    this.#bash = spawn("unshare", [...namespaces, "bash", "-c", "ip link set lo up && exec bash --norc"], {
      cwd: folder,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        PATH: `${folder}/bin:${join(process.execPath, "..")}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin`,
        HOME: folder,
        LANG: "C.UTF-8",
        NO_COLOR: "1",
        COLUMNS: "200",
        XDG_STATE_HOME: join(folder, ".state"),
      },
    });
    this.#exited = new Promise((resolve) => this.#bash.once("close", resolve));
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream?.on("data", (data: Buffer) => {
        this.#output += data.toString();
      });
    }
  }

  static async open(): Promise<PageShell> {
    const folder = await mkdtemp(join(tmpdir(), "compute-agent-docs-"));
    await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
    await mkdir(join(folder, "bin"));
    await symlink(PACKAGE_ROOT, join(folder, "node_modules/compute-agent"));
    for (const name of ["compute-agent", "compute-cluster"]) {
      const program = join(PACKAGE_ROOT, `dist/bin/${name}.js`);
      await symlink(program, join(folder, "node_modules/.bin", name));
      await symlink(program, join(folder, "bin", name));
    }
    await writeFile(join(folder, "bin/npm"), NPM, { mode: 0o755 });
    // A reader of the README is in the checkout.
    for (const name of ["dist", "config"]) {
      await symlink(join(PACKAGE_ROOT, name), join(folder, name));
    }
    // With the name of this package npx would install it anew.
    const { scripts } = JSON.parse(await readFile(join(PACKAGE_ROOT, "package.json"), "utf8")) as { scripts: unknown };
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, scripts }));
    return new PageShell(folder);
  }

  /**
   * Runs a command line as it is. One that serves gets a terminal of its own, and is ready afterwards, or over where its comment
   * says "until Ctrl-C".
   */
  async run(command: string): Promise<CommandResult> {
    if (!SERVES.test(command) || RETURNS.test(command)) {
      return this.#type(command);
    }
    const ready = await this.#serve(command);
    if (ready.status !== 0 || !/# until Ctrl-C$/.test(command)) {
      return ready;
    }
    const { status } = await this.#type("kill -INT -$TERMINAL; wait $TERMINAL");
    return { ...ready, status };
  }

  /** Ends the commands that serve, as Ctrl-C does, the shell and all that it has started; removes the folder. */
  async close(): Promise<void> {
    this.#bash.stdin?.end("for pid in $TERMINALS; do kill -INT -$pid 2>/dev/null; done; exit\n");
    const timer = setTimeout(() => this.#bash.kill("SIGKILL"), 5_000);
    await this.#exited;
    clearTimeout(timer);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #serve(command: string): Promise<CommandResult> {
    this.#terminals += 1;
    const log = join(this.folder, `terminal-${this.#terminals}.log`);
    const quoted = `'${command.replaceAll("'", `'\\''`)}'`;
    await this.#type(`setsid bash -c ${quoted} >${log} 2>&1 </dev/null & TERMINALS="$TERMINALS $!"; TERMINAL=$!`);
    const deadline = Date.now() + COMMAND_TIMEOUT_MS;
    for (;;) {
      const output = await readFile(log, "utf8");
      if (READY.test(output)) {
        return { status: 0, output };
      }
      const { status } = await this.#type("kill -0 $TERMINAL 2>/dev/null");
      if (status !== 0) {
        const ended = await this.#type("wait $TERMINAL");
        return { status: ended.status, output: await readFile(log, "utf8") };
      }
      if (Date.now() > deadline) {
        return { status: -1, output: `does not serve after ${COMMAND_TIMEOUT_MS / 1000} s:\n${output}` };
      }
      await sleep(POLL_INTERVAL_MS * 4);
    }
  }

  async #type(command: string): Promise<CommandResult> {
    this.#commands += 1;
    const end = `end-of-command-${this.#commands}`;
    this.#output = "";
    this.#bash.stdin?.write(`${command}\necho "${end} $?" </dev/null; echo "${end}" >&2\n`);
    const pattern = new RegExp(`${end} (\\d+)$`, "m");
    const deadline = Date.now() + COMMAND_TIMEOUT_MS;
    for (;;) {
      const [, status] = pattern.exec(this.#output) ?? [];
      if (status !== undefined) {
        return { status: Number(status), output: this.#output.replaceAll(new RegExp(`${end}.*\\n?`, "g"), "") };
      }
      if (Date.now() > deadline || this.#bash.exitCode !== null) {
        return { status: -1, output: `no end after ${COMMAND_TIMEOUT_MS / 1000} s:\n${this.#output}` };
      }
      await sleep(POLL_INTERVAL_MS);
    }
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
