import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { compileConfig } from "../../src/config/compile-config.js";
import { ConfigError } from "../../src/config/config-sources.js";
import { parseIni } from "../../src/config/ini-file.js";
import { option, type SectionTable, unset } from "../../src/config/option.js";
import { boolean, float, integer, list, repeated, text } from "../../src/config/value-type.js";
import { isOsloInstalled, OsloPeer, type OsloResult } from "./oslo/oslo-peer.js";

/** The options that the peer registers. */
const TABLE: SectionTable = {
  DEFAULT: {
    a: option(text, "", ""),
    b: option(text, "", ""),
    c: option(text, "", ""),
    i: unset(integer(), ""),
    f: unset(float(), ""),
    t: option(boolean, false, ""),
    l: option(list, [], ""),
    m: option(repeated, [], ""),
  },
  g: { a: option(text, "", ""), z: option(text, "", ""), n: unset(integer({ min: 0, max: 9 }), "") },
};

const name = fc.constantFrom("a", "b", "c", "i", "f", "t", "l", "m", "z", "n", "unknown", "A", "a b");
const section = fc.constantFrom("DEFAULT", "DEFAULT", "g", "g", "G", "default", "x y", "[g");
const braced = (inner: string) => ["$", "{", inner, "}"].join("");
const reference = fc.constantFrom(
  "$a",
  "$b",
  "$$",
  "$c",
  "$z",
  "$i",
  "$t",
  "$g.a",
  "$G.a",
  braced("g.z"),
  braced("a"),
  "$A",
  "$",
  "\\$",
);
const oddReference = fc.constantFrom(
  "$nope",
  "$g",
  braced("g.nope"),
  "$DEFAULT.a",
  "$b.",
  "$".concat("{"),
  braced(""),
  "$1",
  "$_x",
  "$$$a",
);
const plain = fc.string({
  unit: fc.constantFrom(...Array.from("abcz1 ,;#%:=\"'-\\ß\t\u00a0\u2003\u001c")),
  maxLength: 6,
});
const typed = fc.constantFrom(
  "1",
  " 12 ",
  "-3",
  "+4",
  "0x1",
  "1_0",
  "1__0",
  "1.5",
  "-.5",
  "2.",
  "1e2",
  "1e",
  "True",
  "off",
  "YES",
  "2",
  "x,y",
  "",
  "'7'",
  '" 8 "',
  "'",
);
const value = fc.oneof(
  { weight: 3, arbitrary: typed },
  { weight: 2, arbitrary: plain },
  { weight: 2, arbitrary: fc.array(fc.oneof(plain, reference), { maxLength: 4 }).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: oddReference },
);
const assignment = fc
  .tuple(name, fc.constantFrom("=", " = ", ":", " : ", "= "), value)
  .map(([option, mark, text]) => `${option}${mark}${text}`);
const goodLine = fc.oneof(
  { weight: 8, arbitrary: assignment },
  { weight: 2, arbitrary: section.map((each) => `[${each}]`) },
  { weight: 1, arbitrary: fc.constantFrom("", "   ", "# note", "; note", "#", "  # not a note", "\u00a0") },
);
const oddLine = fc.oneof(
  { weight: 30, arbitrary: goodLine },
  { weight: 3, arbitrary: value.map((each) => `  ${each}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("[g", "[]", "[", "[g] x", "no mark", "= x", ": x", "[ g ]", "[g]  ", "\u00a0a = 1"),
  },
);
const file = fc
  .tuple(
    fc.constantFrom("[DEFAULT]", "[DEFAULT]", "[DEFAULT]", "[g]", "# none"),
    fc.array(oddLine, { maxLength: 14 }),
    fc.constantFrom("\n", "\n", "\r\n", "\r"),
  )
  .map(([head, lines, end]) => [head, ...lines].join(end));

const NO_SECTION = "Section must be started before assignment";

/** Returns this project's result for the same files, in the peer's format. */
function ours(contents: readonly string[]): OsloResult {
  const files = contents.map((each, index) => parseIni(each, String(index)));
  for (const [index, { problems }] of files.entries()) {
    // oslo.config stops at the first problem.
    const [first] = problems;
    if (first) {
      return { parse_error: formatMessage(first.message, first.line), file: index };
    }
  }
  const sources = { files, environment: {}, commandLine: [] };
  const values: Record<string, { value: unknown } | { error: true }> = {};
  const place = { stateDir: "/", hostname: "h" };
  try {
    for (const { section: group, option: each, value: found } of compileConfig(TABLE, sources, place).values) {
      values[`${group}.${each}`] = { value: found };
    }
    return { values };
  } catch (error) {
    if (error instanceof ConfigError) {
      return { values: errorsOf(error) };
    }
    throw error;
  }
}

function errorsOf(error: ConfigError) {
  return Object.fromEntries(
    error.problems.map(({ section: group, option: each }) => [`${group}.${each}`, { error: true as const }]),
  );
}

/**
 * oslo.config reports an assignment without a section at the beginning of the next line, so its line is not compared.
 */
function formatMessage(message: string, line: number | string) {
  return message === NO_SECTION ? message : `${message} at ${line}`;
}

function inOurWords(result: OsloResult): OsloResult {
  if ("values" in result) {
    return result;
  }
  // Example: at 1.conf:7, No ':' or '=' found in assignment: 'line'
  const [, line = "", message = ""] =
    /^at .*?\.conf:(\d+), (No ':' or '=' found in assignment|.*?): /s.exec(result.parse_error) ?? [];
  return { parse_error: formatMessage(message, line), file: result.file };
}

/** Removes intended differences: unset strings and lists are empty here, and None in oslo.config. */
function comparable(result: OsloResult): unknown {
  if ("parse_error" in result) {
    return result;
  }
  const entries = Object.entries(result.values);
  const errors = entries.filter(([, each]) => "error" in each).map(([key]) => key);
  if (errors.length > 0) {
    return { errors: errors.sort() };
  }
  return Object.fromEntries(
    entries.map(([key, each]) => {
      const found = "value" in each ? each.value : undefined;
      return [key, found === "" || (Array.isArray(found) && found.length === 0) ? null : found];
    }),
  );
}

describe("Debian's oslo.config", () => {
  if (!isOsloInstalled()) {
    it("is compared if it is installed", () => {
      process.stderr.write("skipped: oslo.config is not installed; on Debian: apt-get install python3-oslo.config\n");
      expect(process.env.CI, "oslo.config must be installed in CI: apt-get install python3-oslo.config").not.toBe(
        "true",
      );
    });
    return;
  }

  const peer = new OsloPeer();
  afterAll(() => peer.close());

  it("reads random files to the same values and the same errors", async () => {
    const counts = { values: 0, errors: 0, parseErrors: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 3 }), async (files) => {
        const theirs = inOurWords(await peer.read(files));
        expect(comparable(ours(files))).toEqual(comparable(theirs));
        const kind = "parse_error" in theirs ? "parseErrors" : hasErrors(theirs) ? "errors" : "values";
        counts[kind] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(30);
  });
});

function hasErrors(result: OsloResult): boolean {
  return "values" in result && Object.values(result.values).some((each) => "error" in each);
}
