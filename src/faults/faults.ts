import { didYouMean, PublicError } from "../runtime/error-messages.js";

/**
 * Faults injected while the process runs. Fault points have names such as `driver.spawn` and
 * `agent.resize_instance.move`.
 */
export interface Faults {
  /**
   * Applies the fault that is set for the point; returns at once if there is none.
   * @throws {FaultInjected} or the signal's reason, if it is aborted during a wait.
   */
  hit(point: string, signal?: AbortSignal): Promise<void>;
  /** Returns the fault that is set for the point and counts it as used; the caller applies it. */
  decide(point: string): FaultAction | undefined;
}

/** The effect of a fault. Times are in milliseconds. */
export type FaultAction =
  /** Throws an error instead of doing the work. `error` is the name of its class; default {@link FaultInjected}. */
  | { readonly kind: "fail"; readonly error?: string }
  /** Blocks for this time; null: forever. */
  | { readonly kind: "hang"; readonly milliseconds: number | null }
  /** Delays the work. */
  | { readonly kind: "slow"; readonly milliseconds: number }
  /** Does the work but loses the response. */
  | { readonly kind: "lose-answer" }
  /** Responds with this HTTP status instead of doing the work. */
  | { readonly kind: "status"; readonly status: number }
  /** Refuses the connection. */
  | { readonly kind: "refuse" }
  /** Rejects new connections and closes open ones for this time; null: until the fault is cleared. */
  | { readonly kind: "partition"; readonly milliseconds: number | null }
  /** Keeps a service from reporting for this time; null: until the fault is cleared. */
  | { readonly kind: "down"; readonly milliseconds: number | null };

/** The error thrown by an injected fault. */
export class FaultInjected extends PublicError {
  /** `FaultInjected`, or the class named by the fault. */
  override readonly name: string;
  readonly point: string;

  constructor(point: string, name = "FaultInjected") {
    super(`${point} failed because of an injected fault; remove it with compute-agent fault clear`);
    this.point = point;
    this.name = name;
  }
}

/** Faults that notify listeners of changes. */
export interface ChangingFaults extends Faults {
  /** Returns the fault that is set for the point without counting it as used. */
  peek(point: string): FaultAction | undefined;
  /** Calls `listener` after each change. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

type FaultKind = FaultAction["kind"];

/** A fault point and the kinds of faults that it supports. */
export interface FaultPoint {
  /** `driver.spawn` */
  readonly point: string;
  readonly kinds: readonly FaultKind[];
  /** The error classes that `fail:<class>` accepts. */
  readonly errors?: readonly string[];
}

/** All fault points of an agent, by name. */
export type FaultTable = ReadonlyMap<string, FaultPoint>;

/** A fault rule: `driver.finishMigration=fail:once`. */
export interface FaultRule {
  readonly point: string;
  readonly action: FaultAction;
  /** How often the fault applies; null: until it is cleared. */
  readonly times: number | null;
}

/** An unknown fault point or an invalid fault rule. The message lists the valid ones. */
export class InvalidFault extends Error {
  override readonly name = "InvalidFault";
}

type TimedAction = Extract<FaultAction, { readonly kind: "partition" | "down" }>;

/** Returns whether the action applies for a time, however often it is asked for, instead of a number of times. */
export function isTimed(action: FaultAction): action is TimedAction {
  return action.kind === "partition" || action.kind === "down";
}

/** The syntax of each kind. */
const FAULT_SYNTAX: Readonly<Record<FaultKind, string>> = {
  fail: "fail[:Error][:TIMES]",
  hang: "hang[:DURATION][:TIMES]",
  slow: "slow:DURATION[:TIMES]",
  "lose-answer": "lose-answer[:TIMES]",
  status: "STATUS[:TIMES]",
  refuse: "refuse[:TIMES]",
  partition: "partition[:DURATION]",
  down: "down[:DURATION]",
};

export const FAULT_LANGUAGE =
  "DURATION is 500ms, 30s or 5m; TIMES is once, a number or always, which is the default; STATUS is 400 to 599";

export function faultTable(points: readonly FaultPoint[]): FaultTable {
  return new Map(points.map((point) => [point.point, point]));
}

/**
 * Parses a fault rule.
 * @throws {InvalidFault} for unknown points and kinds, with a list of the valid ones.
 */
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
  if (count === undefined || rest.length > 0 || (isTimed(action) && times !== undefined)) {
    return fail();
  }
  return { point, action, times: count };
}

/** Returns the error for an unknown point: it suggests a similar name if there is one, else lists all points. */
export function unknownPoint(point: string, table: FaultTable): InvalidFault {
  const near = didYouMean(point, table.keys());
  const help = near === undefined ? pointsOf(table) : `Did you mean ${near}? \`compute-agent fault points\` lists all`;
  return new InvalidFault(`there is no fault point ${point || "without a name"}. ${help}`);
}

/** Returns the syntax of a kind at this point. Points without error classes fail with one error only. */
function syntaxOf(kind: FaultKind, { errors }: FaultPoint): string {
  return kind === "fail" && errors === undefined ? "fail[:TIMES]" : FAULT_SYNTAX[kind];
}

/** Formats a rule so that {@link parseFaultRule} can read it. */
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

/** Wraps words into lines of at most the terminal's width, indented by two. */
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

/** Describes all points and their kinds, for users. */
function pointsOf(table: FaultTable): string {
  return `Those that exist:\n${listPoints([...table.values()])}`;
}

/** Renders points as terminal lines: names with the same kinds, followed by these. */
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

/** Returns the syntax of each kind of a point. */
export function settingsOf(point: FaultPoint): readonly string[] {
  return point.kinds.map((kind) => syntaxOf(kind, point));
}

/** Parses the action and removes its words from the list. */
function actionOf(words: string[], { errors = [] }: FaultPoint): FaultAction | undefined {
  const kind = words.shift() ?? "";
  const duration = words[0] === undefined ? undefined : durationOf(words[0]);
  if (["hang", "slow", "partition", "down"].includes(kind) && duration !== undefined) {
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
    case "down":
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

/** Returns undefined if the text is not a count. */
function timesOf(text: string): number | null | undefined {
  if (text === "always") {
    return null;
  }
  if (text === "once") {
    return 1;
  }
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
