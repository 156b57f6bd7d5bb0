import { didYouMean, PublicError } from "../runtime/error-messages.js";

/** Faults on purpose, set from outside while the process runs. Points are named: `driver.spawn`, `agent.resize_instance.move`. */
export interface Faults {
  /**
   * Acts out what is set for the point: returns at once when nothing is.
   * @throws {FaultInjected} or the signal's reason, when it is aborted in a wait.
   */
  hit(point: string, signal?: AbortSignal): Promise<void>;
  /** Takes what is set for the point, counted as used; the caller acts it out. */
  decide(point: string): FaultAction | undefined;
}

/** What happens at a point. Times are milliseconds. */
export type FaultAction =
  /** An error instead of the work; `error` names its class, else it is a {@link FaultInjected}. */
  | { readonly kind: "fail"; readonly error?: string }
  /** Nothing happens for so long; null: for ever. */
  | { readonly kind: "hang"; readonly milliseconds: number | null }
  /** The work begins so much later. */
  | { readonly kind: "slow"; readonly milliseconds: number }
  /** The work is done, and its answer lost. */
  | { readonly kind: "lose-answer" }
  /** An HTTP answer of this status instead of the work. */
  | { readonly kind: "status"; readonly status: number }
  /** No service listens. */
  | { readonly kind: "refuse" }
  /** No connection is possible, and open ones break, for so long; null: until it is cleared. */
  | { readonly kind: "partition"; readonly milliseconds: number | null };

/** The error of a fault that was set on purpose. */
export class FaultInjected extends PublicError {
  /** `FaultInjected`, or the class that the fault names. */
  override readonly name: string;
  readonly point: string;

  constructor(point: string, name = "FaultInjected") {
    super(`${point} fails because a fault is set for it; compute-cluster fault clear takes it away`);
    this.point = point;
    this.name = name;
  }
}

/** Faults that tell when they change. */
export interface ChangingFaults extends Faults {
  /** What is set for the point now, not counted as used. */
  peek(point: string): FaultAction | undefined;
  /** Returns what stops it. */
  onChange(listener: () => void): () => void;
}

type FaultKind = FaultAction["kind"];

/** What can be set at which point. */
export interface FaultPoint {
  /** `driver.spawn` */
  readonly point: string;
  readonly kinds: readonly FaultKind[];
  /** Classes of errors that `fail:<class>` may name. */
  readonly errors?: readonly string[];
}

/** All points of an agent, by name. */
export type FaultTable = ReadonlyMap<string, FaultPoint>;

/** One setting: `driver.finishMigration=fail:once`. */
export interface FaultRule {
  readonly point: string;
  readonly action: FaultAction;
  /** How often it acts; null: until it is cleared. */
  readonly times: number | null;
}

/** A knob that does not exist, or not so. The message lists what does. */
export class InvalidFault extends Error {
  override readonly name = "InvalidFault";
}

/** How each kind is written. */
const FAULT_SYNTAX: Readonly<Record<FaultKind, string>> = {
  fail: "fail[:Error][:TIMES]",
  hang: "hang[:DURATION][:TIMES]",
  slow: "slow:DURATION[:TIMES]",
  "lose-answer": "lose-answer[:TIMES]",
  status: "STATUS[:TIMES]",
  refuse: "refuse[:TIMES]",
  partition: "partition[:DURATION]",
};

export const FAULT_LANGUAGE =
  "DURATION is 500ms, 30s or 5m; TIMES is once, a number or always, which is the default; STATUS is 400 to 599";

export function faultTable(points: readonly FaultPoint[]): FaultTable {
  return new Map(points.map((point) => [point.point, point]));
}

/** @throws {InvalidFault} unknown points and actions, with the list of what exists. */
export function parseFaultRule(text: string, table: FaultTable): FaultRule {
  const [point = "", setting, ...more] = text.split("=");
  const known = table.get(point);
  if (!known) {
    throw unknownPoint(point, table);
  }
  const fail = (): never => {
    throw new InvalidFault(
      `${point} cannot be ${setting ? `set to ${setting}` : "set to nothing"}; expected ${point}=` +
        `${known.kinds.map((kind) => syntaxOf(kind, known)).join(" or ")}. ${FAULT_LANGUAGE}` +
        (known.errors && known.kinds.includes("fail") ? `; Error is one of ${known.errors.join(", ")}` : ""),
    );
  };
  if (!setting || more.length > 0) {
    return fail();
  }
  const words = setting.split(":");
  const action = actionOf(words, known);
  if (!action || !known.kinds.includes(action.kind)) {
    return fail();
  }
  const [times, ...rest] = words;
  const count = times === undefined ? null : timesOf(times);
  if (count === undefined || rest.length > 0 || (action.kind === "partition" && times !== undefined)) {
    return fail();
  }
  return { point, action, times: count };
}

/** A point that no table has: the one that was meant, where that can be guessed, else all that there are. */
export function unknownPoint(point: string, table: FaultTable): InvalidFault {
  const near = didYouMean(point, table.keys());
  const help =
    near === undefined ? pointsOf(table) : `Did you mean ${near}? \`compute-cluster fault points\` lists all`;
  return new InvalidFault(`there is no fault point ${point || "without a name"}. ${help}`);
}

/** How a kind is written at this point: steps fail with one error only. */
function syntaxOf(kind: FaultKind, { errors }: FaultPoint): string {
  return kind === "fail" && errors === undefined ? "fail[:TIMES]" : FAULT_SYNTAX[kind];
}

/** The knob as {@link parseFaultRule} reads it. */
export function formatFaultRule({ point, action, times }: FaultRule): string {
  const words = [
    action.kind === "status" ? String(action.status) : action.kind,
    ...(action.kind === "fail" && action.error !== undefined ? [action.error] : []),
    ...("milliseconds" in action && action.milliseconds !== null ? [formatDuration(action.milliseconds)] : []),
    ...(times === null ? [] : [times === 1 ? "once" : String(times)]),
  ];
  return `${point}=${words.join(":")}`;
}

/** The width of a terminal, in characters. */
const COLUMNS = 80;

/** Words in lines that are indented by two and no longer than a terminal. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= COLUMNS) {
      lines[lines.length - 1] = longer;
    } else {
      lines.push(`  ${word}`);
    }
  }
  return lines.join("\n");
}

/** All points and what each takes, for a person. */
function pointsOf(table: FaultTable): string {
  return `Those that exist:\n${listPoints([...table.values()])}`;
}

/** Renders points as lines of a terminal: the names with the same settings, then these. */
export function listPoints(points: readonly FaultPoint[]): string {
  const bySyntax = new Map<string, string[]>();
  for (const point of points) {
    const syntax = settingsOf(point).join(" | ");
    bySyntax.set(syntax, [...(bySyntax.get(syntax) ?? []), point.point]);
  }
  const listed = (names: readonly string[]) =>
    wrapped(names.map((name, index) => (index < names.length - 1 ? `${name},` : name)));
  return [...bySyntax].map(([syntax, names]) => `${listed(names)}\n    =${syntax}`).join("\n");
}

/** Returns how each setting of a point is written. */
export function settingsOf(point: FaultPoint): readonly string[] {
  return point.kinds.map((kind) => syntaxOf(kind, point));
}

/** Takes the words of the action and leaves the words after it. */
function actionOf(words: string[], { errors = [] }: FaultPoint): FaultAction | undefined {
  const kind = words.shift() ?? "";
  const duration = words[0] === undefined ? undefined : durationOf(words[0]);
  if (["hang", "slow", "partition"].includes(kind) && duration !== undefined) {
    words.shift();
  }
  switch (kind) {
    case "fail": {
      const error = words[0] !== undefined && errors.includes(words[0]) ? words.shift() : undefined;
      return error === undefined ? { kind } : { kind, error };
    }
    case "slow":
      return duration === undefined ? undefined : { kind, milliseconds: duration };
    case "hang":
    case "partition":
      return { kind, milliseconds: duration ?? null };
    case "lose-answer":
    case "refuse":
      return { kind };
    default:
      return /^[45]\d\d$/.test(kind) ? { kind: "status", status: Number(kind) } : undefined;
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

function durationOf(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

function formatDuration(milliseconds: number): string {
  return milliseconds % 1_000 === 0 ? `${milliseconds / 1_000}s` : `${milliseconds}ms`;
}

/** Undefined: not a number of times. */
function timesOf(text: string): number | null | undefined {
  if (text === "always") {
    return null;
  }
  if (text === "once") {
    return 1;
  }
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
