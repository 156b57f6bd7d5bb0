import type { PartState } from "../../../agent/check/check-part.js";
import { wrapWords } from "../../ui/table.js";
import type { Terminal } from "../../ui/terminal.js";
import type { CheckReport } from "./check-start.js";

/** As wide as a terminal is at least. */
const WIDTH = 80;
/** Columns of a part's name, and of its state. */
const NAME = 12;
const STATE = 9;

const RESULT_MESSAGES: Readonly<Record<CheckReport["outcome"], string>> = {
  starts: "A start would find all it needs.",
  degraded: "Warning: the agent would start, but could not update Placement.",
  waits: "A start would wait.",
  fails: "A start would fail.",
};

/** The report for people: a screen at most, 80 columns wide at most. */
export function renderReport(
  { host, outcome: result, parts }: CheckReport,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const paint: Readonly<Record<PartState, (text: string) => string>> = {
    ok: colors.green,
    note: colors.yellow,
    degraded: colors.yellow,
    waits: colors.yellow,
    fails: colors.red,
    unknown: colors.dim,
  };
  const room = Math.max(20, Math.min(columns, WIDTH) - NAME - STATE);
  const rows = parts.flatMap(({ name, state, found, hint }) => {
    const lines = [...wrapped(found, room), ...(hint === "" ? [] : wrapped(`-> ${hint}`, room))];
    return lines.map((line, at) =>
      at === 0
        ? `${name.padEnd(NAME)}${paint[state](state.padEnd(STATE))}${line}`
        : `${" ".repeat(NAME + STATE)}${line}`,
    );
  });
  return [colors.bold(`${host}: what a start would find`), ...rows, RESULT_MESSAGES[result]].join("\n");
}

/** Lines of this width; a word that is longer is broken. */
function wrapped(text: string, width: number): string[] {
  const words = text.replace(/\s+/g, " ").split(" ");
  const short = words.flatMap((word) => word.match(new RegExp(`.{1,${width}}`, "gu")) ?? []);
  return wrapWords(short.join(" "), width).split("\n");
}
