import { describe, expect, it } from "vitest";
import { compileBody } from "../../../../src/control-plane/placement/http/call.js";
import { explain } from "../../../../src/control-plane/placement/http/json-schema-errors.js";
import { parsePythonJson, toPlain } from "../../../../src/control-plane/python/json.js";
import { pformat, repr } from "../../../../src/control-plane/python/repr.js";
import { isHyphenatedUuid, isUuidLike, normalizeUuid } from "../../../../src/control-plane/python/uuid.js";
import { JSON_ERRORS, REPRESENTATIONS, VALIDATIONS } from "./python-examples.js";

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

describe("parsePythonJson", () => {
  it.each(JSON_ERRORS)("%j: %s", (text, message) => {
    if (message === null) {
      expect(toPlain(parsePythonJson(text))).toEqual(JSON.parse(text));
    } else {
      expect(() => parsePythonJson(text)).toThrow(new RegExp(`^${escaped(message)}$`));
    }
  });

  it("reads Python's own constants", () => {
    expect(toPlain(parsePythonJson("[NaN, Infinity, -Infinity]"))).toEqual([Number.NaN, Infinity, -Infinity]);
  });
});

describe("repr and pformat", () => {
  it.each(REPRESENTATIONS)("%j", (text, expectedRepr, pretty) => {
    const value = parsePythonJson(text);
    expect(repr(value)).toBe(expectedRepr);
    expect(pformat(value, 72)).toBe(pretty);
  });
});

describe("explain", () => {
  it.each(VALIDATIONS)("%j of %s", (schema, text, message) => {
    const value = parsePythonJson(text);
    expect(explain(schema, value, isUuidLike) ?? null).toBe(message);
    expect(compileBody(schema)(toPlain(value))).toBe(message === null);
  });

  it.each([
    ["", false],
    ["a", false],
    ["ab", true],
    ["abcd", true],
    ["abcde", false],
    ["\u{1F600}", false],
    ["\u{1F600}a", true],
    ["\u{1F600}\u{1F600}\u{1F600}\u{1F600}", true],
    ["\u{1F600}\u{1F600}\u{1F600}\u{1F600}a", false],
  ])("counts characters as Python does: %j has two to four: %s", (text, isValid) => {
    const schema = { type: "string", minLength: 2, maxLength: 4 };
    expect(compileBody(schema)(text)).toBe(isValid);
    expect(explain(schema, text, isUuidLike) === undefined).toBe(isValid);
  });
});

describe("UUIDs", () => {
  const plain = "4fb6b1cc-0d4c-4fb6-b1cc-0d4c4fb6b1cc";

  it.each([plain, plain.toUpperCase(), plain.replaceAll("-", ""), `{${plain}}`, `urn:uuid:${plain}`])(
    "%s is a UUID",
    (text) => {
      expect(isUuidLike(text)).toBe(true);
      expect(normalizeUuid(text)).toBe(plain);
    },
  );

  it.each(["", "x", `${plain}0`, plain.replace("4", "g"), `${plain.slice(1)}_`])("%s is not a UUID", (text) => {
    expect(isUuidLike(text)).toBe(false);
  });

  it("requires hyphens in query strings", () => {
    expect(isHyphenatedUuid(plain)).toBe(true);
    expect(isHyphenatedUuid(plain.replaceAll("-", ""))).toBe(false);
  });
});
