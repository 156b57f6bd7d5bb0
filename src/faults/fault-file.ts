import { join } from "node:path";
import type { Runtime } from "../runtime/runtime.js";
import { type FaultKnob, type FaultTable, formatKnob, InvalidFault, parseKnob } from "./fault-rules.js";
import { FaultSet, type SetFault } from "./fault-set.js";

/** Knobs, as `compute-cluster fault` writes them; the agent only reads the file. */
const WANTED = "faults.json";
/**
 * How often each has acted, as the agent writes it; `compute-cluster fault` only reads it. Each file has one writer:
 * nothing is lost.
 */
const USED = "faults-used.json";

type Doors = Pick<Runtime, "files" | "clock" | "timers" | "logger">;
type Uses = Readonly<Record<string, number>>;
interface WantedFault {
  readonly id: string;
  readonly setAt: number;
  readonly knob: string;
}

/** The faults of an agent's `state_path`, followed while it runs. */
export class FaultFile {
  readonly faults: FaultSet;
  readonly #folder: string;
  readonly #table: FaultTable;
  readonly #doors: Doors;
  #unwatch: () => void = () => {};
  #reading: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #written = "";
  #stopped = false;

  constructor(folder: string, table: FaultTable, doors: Doors) {
    this.#folder = folder;
    this.#table = table;
    this.#doors = doors;
    this.faults = new FaultSet(doors);
  }

  /** Reads what is set, and follows what is set from now on. */
  async open(): Promise<void> {
    await this.#doors.files.makeFolder(this.#folder);
    if ((await readUses(this.#folder, this.#doors.files)) === undefined) {
      // A host that has never had a fault has nothing to note.
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

  /** The system may have no watches left, with thousands of agents on a machine. */
  #watch(): () => void {
    try {
      return this.#doors.files.watch(this.#folder, (names = [WANTED]) => {
        // The agent's own files are in the folder, too, and what it notes here itself.
        if (names.includes(WANTED)) {
          this.#reading = this.#reading.then(() => this.#read());
        }
      });
    } catch (err) {
      this.#doors.logger.warn(
        "faults that are set from now on act after the next start only: their folder cannot be watched",
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
      const found = await readFaults(this.#folder, this.#table, this.#doors);
      const before = this.faults.faults.map(({ id }) => id);
      this.faults.replace(found);
      for (const fault of this.faults.faults) {
        if (!before.includes(fault.id)) {
          this.#doors.logger.warn(`a fault is set on purpose: ${formatKnob(fault)}`);
        }
      }
    } catch (err) {
      this.#doors.logger.warn("the faults that are set cannot be read; those known before stay", { err });
    }
  }

  /** Writes only what is new: the folder is watched. */
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
      .then(() => this.#doors.files.write(join(this.#folder, USED), text))
      .catch((err: unknown) => {
        this.#doors.logger.warn("that a fault has acted cannot be stored; it may act again after a restart", { err });
      });
  }
}

function textOf(uses: Uses): string {
  return `${JSON.stringify(uses)}\n`;
}

/** What is set in the folder, in the order of setting. @throws {InvalidFault} {@link FileFailure} */
export async function readFaults(
  folder: string,
  table: FaultTable,
  { files }: Pick<Doors, "files">,
): Promise<readonly SetFault[]> {
  const uses = await readUses(folder, files);
  const wanted = await readWanted(folder, files);
  return wanted.map(({ id, setAt, knob }) => ({ ...parseKnob(knob, table), id, setAt, used: uses?.[id] ?? 0 }));
}

/** The agent has read what was set: it notes each fault, used or not. */
export async function areNoticed(folder: string, ids: readonly string[], { files }: Pick<Doors, "files">) {
  const uses = (await readUses(folder, files)) ?? {};
  return ids.every((id) => uses[id] !== undefined);
}

/** Each in place of what was set for its point. Returns their ids. */
export async function setFaults(
  folder: string,
  knobs: readonly FaultKnob[],
  doors: Pick<Runtime, "files" | "clock" | "random">,
): Promise<readonly string[]> {
  const points = new Set(knobs.map(({ point }) => point));
  const kept = (await readWanted(folder, doors.files)).filter(({ knob }) => !points.has(pointOf(knob)));
  const added = knobs.map((knob) => ({ id: doors.random.hex(8), setAt: doors.clock.now(), knob: formatKnob(knob) }));
  await writeWanted(folder, [...kept, ...added], doors.files);
  return added.map(({ id }) => id);
}

/** Clears the knobs of these points, or all of them. Returns the knobs that were set. */
export async function clearFaults(
  folder: string,
  points: readonly string[],
  { files }: Pick<Doors, "files">,
): Promise<readonly string[]> {
  const wanted = await readWanted(folder, files);
  const cleared = wanted.filter(({ knob }) => points.length === 0 || points.includes(pointOf(knob)));
  await writeWanted(
    folder,
    wanted.filter((fault) => !cleared.includes(fault)),
    files,
  );
  return cleared.map(({ knob }) => knob);
}

const pointOf = (knob: string): string => knob.split("=")[0] ?? "";

function writeWanted(folder: string, wanted: readonly WantedFault[], files: Doors["files"]): Promise<void> {
  return files.write(join(folder, WANTED), `${JSON.stringify(wanted, null, 2)}\n`);
}

async function readWanted(folder: string, files: Doors["files"]): Promise<readonly WantedFault[]> {
  const path = join(folder, WANTED);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return [];
  }
  const parsed = parseJson(text);
  if (Array.isArray(parsed) && parsed.every(isWanted)) {
    return parsed;
  }
  throw new InvalidFault(`${path} is not what compute-cluster fault writes; remove it, and set the faults again`);
}

async function readUses(folder: string, files: Doors["files"]): Promise<Uses | undefined> {
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

function isWanted(value: unknown): value is WantedFault {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    "setAt" in value &&
    typeof value.setAt === "number" &&
    "knob" in value &&
    typeof value.knob === "string"
  );
}
