import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Entry, JournalReader } from "./journal.js";
import type { Mutant } from "./mutant.js";
import { PLAN_FILE, type Plan } from "./plan.js";
import { nearest, type SourceTree, testsOf } from "./sources.js";

/**
 * Milliseconds without a journal entry after which a session is stopped: its mutant hangs, or, without a mutant, the
 * session is broken.
 */
const SILENCE = { ofMutant: 180_000, ofSession: 600_000 };

/**
 * Milliseconds between reads of the journal. Reads count instead of time, so that a suspension of this process is not
 * counted as silence.
 */
const LOOK = 300;

/** The number of nearest test files. Mutants that are reached while modules load are tried only with these. */
const NEAR = 8;

export interface MutantResult {
  readonly mutant: Mutant;
  /** The test that failed; null: none. */
  readonly killedBy: string | null;
  readonly reached: boolean;
}

/** Tries mutants with the tests, in a process that is restarted when a mutant hangs or terminates it. */
export class Trial {
  readonly red = new Set<string>();
  readonly #tree: SourceTree;
  readonly #mutants: readonly Mutant[];
  readonly #timeoutMs: number;
  readonly #nearOnly: boolean;
  readonly #progress: (text: string) => void;
  readonly #near: Plan["near"];
  readonly #killedBy = new Map<number, string>();
  readonly #reached = new Set<number>();
  readonly #whileLoading = new Set<number>();
  readonly #evaluated = new Set<number>();
  #file = "";
  #last: Entry | null = null;

  constructor(
    tree: SourceTree,
    mutants: readonly Mutant[],
    options: { readonly timeoutSeconds: number; readonly near: boolean; readonly progress: (text: string) => void },
  ) {
    this.#tree = tree;
    this.#mutants = mutants;
    this.#timeoutMs = options.timeoutSeconds * 1000;
    this.#nearOnly = options.near;
    this.#progress = options.progress;
    const sources = [...new Set(mutants.map(({ path }) => path))];
    this.#near = Object.fromEntries(sources.map((path) => [path, nearest(path, testsOf(tree, new Set([path])), NEAR)]));
  }

  async run(): Promise<readonly MutantResult[]> {
    await this.#pass("near");
    await this.#runWhileLoading();
    if (!this.#nearOnly) {
      await this.#pass("others");
    }
    return this.#mutants.map((mutant) => ({
      mutant,
      killedBy: this.#killedBy.get(mutant.id) ?? null,
      reached: this.#reached.has(mutant.id),
    }));
  }

  async #pass(tries: Plan["tries"]): Promise<void> {
    const sources = new Set(this.#alive().map(({ path }) => path));
    const reaching = testsOf(this.#tree, sources);
    const near = new Set(Object.values(this.#near).flat());
    let tests = tries === "near" ? reaching.filter((path) => near.has(path)) : reaching;
    while (tests.length > 0) {
      const ended = await this.#session({ mutants: this.#alive(), tests, tries });
      tests = ended ? [] : tests.slice(Math.max(0, tests.indexOf(this.#file)));
    }
  }

  async #runWhileLoading(): Promise<void> {
    for (;;) {
      const mutants = this.#alive().filter(({ id }) => this.#whileLoading.has(id) && !this.#evaluated.has(id));
      if (mutants.length === 0) {
        return;
      }
      const whileLoading = mutants.map(({ id, path }) => ({ id, tests: this.#near[path] ?? [] }));
      await this.#session({ mutants, tests: [], tries: "near", whileLoading });
    }
  }

  #alive(): readonly Mutant[] {
    return this.#mutants.filter(({ id }) => !this.#killedBy.has(id));
  }

  /** Returns false if a mutant terminated the session early. */
  async #session(what: Pick<Plan, "mutants" | "tests" | "tries" | "whileLoading">): Promise<boolean> {
    const directory = mkdtempSync(join(tmpdir(), "mutants-"));
    const journal = join(directory, "journal");
    const planFile = join(directory, "plan.json");
    const { root } = this.#tree;
    const plan: Plan = { ...what, root, near: this.#near, timeoutMs: this.#timeoutMs, journal };
    writeFileSync(planFile, JSON.stringify(plan));
    const session = spawn(process.execPath, [fileURLToPath(new URL("./session.js", import.meta.url))], {
      cwd: this.#tree.root,
      env: { ...process.env, NODE_NO_WARNINGS: "1", [PLAN_FILE]: planFile },
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      return await this.#follow(session, new JournalReader(journal));
    } finally {
      session.kill("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    }
  }

  async #follow(session: ChildProcess, reader: JournalReader): Promise<boolean> {
    let complaint = "";
    session.stderr?.on("data", (data: Buffer) => {
      complaint = `${complaint}${data}`.slice(-2000);
    });
    this.#last = null;
    let silence = 0;
    for (;;) {
      const isOver = session.exitCode !== null || session.signalCode !== null;
      const entries = reader.next();
      for (const entry of entries) {
        this.#note(entry);
      }
      silence = entries.length > 0 ? 0 : silence + LOOK;
      const last = this.#lastEntry();
      if (last?.kind === "end") {
        return true;
      }
      if (last?.kind === "try" && (isOver || silence > SILENCE.ofMutant)) {
        this.#killedBy.set(last.id, `${last.test} (${isOver ? "ends the process" : "never returns"})`);
        return false;
      }
      if (isOver || silence > SILENCE.ofSession) {
        throw new Error(`the tests ended before their time: ${complaint}`);
      }
      await sleep(LOOK);
    }
  }

  #lastEntry(): Entry | null {
    return this.#last;
  }

  #note(entry: Entry): void {
    this.#last = entry;
    switch (entry.kind) {
      case "file":
        this.#file = entry.path.slice(this.#tree.root.length + 1);
        break;
      case "kill":
        this.#killedBy.set(entry.id, entry.test);
        this.#reached.add(entry.id);
        break;
      case "reach":
        add(this.#reached, entry.ids);
        break;
      case "load":
        add(this.#whileLoading, entry.ids);
        add(this.#reached, entry.ids);
        break;
      case "red":
        this.red.add(entry.test);
        break;
      case "spent":
        this.#evaluated.add(entry.id);
        break;
    }
    this.#progress(`${this.#killedBy.size} of ${this.#mutants.length} killed, ${this.#file}`);
  }
}

function add(set: Set<number>, ids: readonly number[]): void {
  for (const id of ids) {
    set.add(id);
  }
}
