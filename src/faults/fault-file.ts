import { join } from "node:path";
import type { Runtime } from "../runtime/runtime.js";
import { FaultSet, type SetFault } from "./fault-set.js";
import { type FaultRule, type FaultTable, formatFaultRule, InvalidFault, parseFaultRule } from "./faults.js";

/** Fault rules, written by `compute-agent fault`; the agent only reads the file. */
const FAULTS_FILE = "faults.json";
/**
 * How often each fault has applied, written by the agent; `compute-agent fault` only reads the file. Each file has
 * one writer, so no write is lost.
 */
const USED = "faults-used.json";

type FaultFileDeps = Pick<Runtime, "files" | "clock" | "timers" | "logger">;
type Uses = Readonly<Record<string, number>>;
interface StoredFault {
  readonly id: string;
  readonly setAt: number;
  readonly rule: string;
}

/** The faults in an agent's `state_path`, updated while it runs. */
export class FaultFile {
  readonly faults: FaultSet;
  readonly #folder: string;
  readonly #table: FaultTable;
  readonly #deps: FaultFileDeps;
  #unwatch: () => void = () => {};
  #reading: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #written = "";
  #stopped = false;

  constructor(folder: string, table: FaultTable, deps: FaultFileDeps) {
    this.#folder = folder;
    this.#table = table;
    this.#deps = deps;
    this.faults = new FaultSet(deps);
  }

  /** Reads the fault rules and follows later changes. */
  async open(): Promise<void> {
    await this.#deps.files.makeFolder(this.#folder);
    if ((await readUses(this.#folder, this.#deps.files)) === undefined) {
      // A host without any faults so far does not need the file.
      this.#written = textOf({});
    }
    this.#unwatch = this.#watch();
    this.faults.onChange(() => this.#noteUses());
    await this.#read();
  }

  async close(): Promise<void> {
    this.#stopped = true;
    this.#unwatch();
    await this.#reading;
    await this.#writing;
  }

  /** With thousands of agents on a machine, the system may have no watches left. */
  #watch(): () => void {
    try {
      return this.#deps.files.watch(this.#folder, (names = [FAULTS_FILE]) => {
        // The folder also contains other files of the agent, including the one written here.
        if (names.includes(FAULTS_FILE)) {
          this.#reading = this.#reading.then(() => this.#read());
        }
      });
    } catch (err) {
      this.#deps.logger.warn(
        "the folder of the fault files cannot be watched; new faults apply only after the next start",
        {
          err,
        },
      );
      return () => {};
    }
  }

  async #read(): Promise<void> {
    if (this.#stopped) {
      return;
    }
    try {
      const found = await readFaults(this.#folder, this.#table, this.#deps);
      const before = this.faults.faults.map(({ id }) => id);
      this.faults.replace(found);
      for (const fault of this.faults.faults) {
        if (!before.includes(fault.id)) {
          this.#deps.logger.warn(`fault set: ${formatFaultRule(fault)}`);
        }
      }
    } catch (err) {
      this.#deps.logger.warn("the fault file cannot be read; keeping the previous faults", { err });
    }
  }

  /** Writes only changes, since the folder is watched. */
  #noteUses(): void {
    if (this.#stopped) {
      return;
    }
    const uses = Object.fromEntries(this.faults.known.map(({ id, used }) => [id, used]));
    const text = textOf(uses);
    if (text === this.#written) {
      return;
    }
    this.#written = text;
    this.#writing = this.#writing
      .then(() => this.#deps.files.write(join(this.#folder, USED), text))
      .catch((err: unknown) => {
        this.#deps.logger.warn("the use counts of faults could not be saved; a fault may apply again after a restart", {
          err,
        });
      });
  }
}

function textOf(uses: Uses): string {
  return `${JSON.stringify(uses)}\n`;
}

/**
 * Returns the faults set in the folder, in the order of their creation.
 * @throws {InvalidFault} {@link FileFailure}
 */
export async function readFaults(
  folder: string,
  table: FaultTable,
  { files }: Pick<FaultFileDeps, "files">,
): Promise<readonly SetFault[]> {
  const uses = await readUses(folder, files);
  const storedFaults = await readStoredFaults(folder, files);
  return storedFaults.map(({ id, setAt, rule: ruleText }) => ({
    ...parseFaultRule(ruleText, table),
    id,
    setAt,
    used: uses?.[id] ?? 0,
  }));
}

/** Returns whether the agent has read these faults: it records the use count of each one, even if it is zero. */
export async function areNoticed(folder: string, ids: readonly string[], { files }: Pick<FaultFileDeps, "files">) {
  const uses = (await readUses(folder, files)) ?? {};
  return ids.every((id) => uses[id] !== undefined);
}

/** Sets fault rules, replacing those of the same points. Returns their ids. */
export async function setFaults(
  folder: string,
  rules: readonly FaultRule[],
  deps: Pick<Runtime, "files" | "clock" | "random">,
): Promise<readonly string[]> {
  const points = new Set(rules.map(({ point }) => point));
  const retained = (await readStoredFaults(folder, deps.files)).filter(
    ({ rule: ruleText }) => !points.has(pointOf(ruleText)),
  );
  const added = rules.map((rule) => ({ id: deps.random.hex(8), setAt: deps.clock.now(), rule: formatFaultRule(rule) }));
  await writeStoredFaults(folder, [...retained, ...added], deps.files);
  return added.map(({ id }) => id);
}

/** Clears the fault rules of these points, or all if none is named. Returns the cleared rules. */
export async function clearFaults(
  folder: string,
  points: readonly string[],
  { files }: Pick<FaultFileDeps, "files">,
): Promise<readonly string[]> {
  const storedFaults = await readStoredFaults(folder, files);
  const cleared = storedFaults.filter(
    ({ rule: ruleText }) => points.length === 0 || points.includes(pointOf(ruleText)),
  );
  await writeStoredFaults(
    folder,
    storedFaults.filter((fault) => !cleared.includes(fault)),
    files,
  );
  return cleared.map(({ rule: ruleText }) => ruleText);
}

const pointOf = (ruleText: string): string => ruleText.split("=")[0] ?? "";

function writeStoredFaults(
  folder: string,
  storedFaults: readonly StoredFault[],
  files: FaultFileDeps["files"],
): Promise<void> {
  return files.write(join(folder, FAULTS_FILE), `${JSON.stringify(storedFaults, null, 2)}\n`);
}

async function readStoredFaults(folder: string, files: FaultFileDeps["files"]): Promise<readonly StoredFault[]> {
  const path = join(folder, FAULTS_FILE);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return [];
  }
  const parsed = parseJson(text);
  if (Array.isArray(parsed) && parsed.every(isFaultEntry)) {
    return parsed.map(({ id, setAt, rule, knob = "" }) => ({ id, setAt, rule: rule ?? knob }));
  }
  throw new InvalidFault(`${path} is not a valid fault file; remove it, and set the faults again`);
}

async function readUses(folder: string, files: FaultFileDeps["files"]): Promise<Uses | undefined> {
  const text = await files.readIfPresent(join(folder, USED));
  const parsed = text === undefined ? undefined : parseJson(text);
  return typeof parsed === "object" && parsed !== null ? (parsed as Uses) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A fault in the file. Until release 0.2, `rule` was named `knob`. */
type FaultEntry = Omit<StoredFault, "rule"> & { readonly rule?: string; readonly knob?: string };

function isFaultEntry(value: unknown): value is FaultEntry {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    "setAt" in value &&
    typeof value.setAt === "number" &&
    (("rule" in value && typeof value.rule === "string") || ("knob" in value && typeof value.knob === "string"))
  );
}
