import { describe, expect, it, test } from "vitest";
import { PlacementError } from "../../../src/placement-client/errors.js";
import {
  asArray,
  asNumber,
  asRecord,
  asString,
  asStringOrNull,
  mapRecord,
  parseJson,
} from "../../../src/placement-client/json.js";

const VALUES = [{ a: 1 }, {}, [1], [], "text", "", 5, 0, true, null, undefined];

/** Returns the values that the reader accepts, unchanged. */
function taken(reader: (value: unknown) => unknown): readonly unknown[] {
  return VALUES.filter((value) => {
    try {
      return Object.is(reader(value), value);
    } catch (error) {
      expect(error).toMatchObject({ code: "DiscoveryFailure" });
      return false;
    }
  });
}

describe("readers accept the type in their name, and nothing else", () => {
  test.each<[string, (value: unknown) => unknown, readonly unknown[]]>([
    ["asRecord", asRecord, [{ a: 1 }, {}]],
    ["asArray", asArray, [[1], []]],
    ["asString", asString, ["text", ""]],
    ["asStringOrNull", asStringOrNull, ["text", "", null]],
    ["asNumber", asNumber, [5, 0]],
  ])("%s", (_name, reader, expected) => {
    expect(taken(reader)).toEqual(expected);
  });

  it("asStringOrNull reads a missing value as null", () => {
    expect(asStringOrNull(undefined)).toBeNull();
  });
});

it("mapRecord reads each member with its name", () => {
  expect(mapRecord({ a: 1, b: 2 }, (value, key) => `${key}${asNumber(value)}`)).toEqual({ a: "a1", b: "b2" });
  expect(() => mapRecord([], asNumber)).toThrow(expect.objectContaining({ code: "DiscoveryFailure" }));
});

describe("errors quote the value found", () => {
  test.each<[() => unknown, string]>([
    [() => parseJson("<html>"), "expected JSON, found <html>"],
    [() => parseJson(""), "expected JSON, found nothing"],
    [() => parseJson("x".repeat(81)), `expected JSON, found ${"x".repeat(80)}…`],
    [() => parseJson("x".repeat(80)), `expected JSON, found ${"x".repeat(80)}`],
    [() => asNumber("five"), 'expected a number in the response, found "five"'],
    [() => asRecord(undefined), "expected an object in the response, found nothing"],
    [() => asArray({}), "expected a list in the response, found {}"],
    [() => asString(1), "expected a string in the response, found 1"],
  ])("%#", (read, message) => {
    expect(read).toThrow(new PlacementError("DiscoveryFailure", message));
  });

  it("the parser's own error is the cause", () => {
    expect(parseJson("[1]")).toEqual([1]);
    try {
      parseJson("{");
      expect.fail("it was read");
    } catch (error) {
      expect((error as Error).cause).toBeInstanceOf(SyntaxError);
    }
  });
});
