import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { negotiateCompute } from "../../../../src/control-plane/compute/api/versions.js";
import { MESSAGE_LIMITS } from "../../../../src/control-plane/http/listener-limits.js";
import { parseQuery, Query, readJson } from "../../../../src/control-plane/http/request.js";
import { Router } from "../../../../src/control-plane/http/router.js";
import {
  firstSince,
  isoMicroseconds,
  isoSeconds,
  lastBefore,
  parseIsoTime,
  toSeconds,
} from "../../../../src/control-plane/http/times.js";
import { pythonRepr, pythonStr } from "../../../../src/control-plane/python/repr.js";
import { property } from "../../../fixtures/property.js";

describe("Router", () => {
  const router = new Router([
    { method: "GET", path: "/servers" },
    { method: "GET", path: "/servers/detail" },
    { method: "GET", path: "/servers/:id" },
    { method: "DELETE", path: "/servers/:id" },
    { method: "GET", path: "/servers/:id/tags/:tag" },
    { method: "GET", path: "/:any/fixed" },
  ]);

  test.each([
    ["GET", "/servers", "/servers", {}],
    ["GET", "/servers/", "/servers", {}],
    ["HEAD", "/servers", "/servers", {}],
    ["GET", "/servers/detail", "/servers/detail", {}],
    ["DELETE", "/servers/detail", "/servers/:id", { id: "detail" }],
    ["GET", "/servers/a%2Fb/tags/x%20y", "/servers/:id/tags/:tag", { id: "a/b", tag: "x y" }],
    ["GET", "/other/fixed", "/:any/fixed", { any: "other" }],
  ])("%s %s", (method, path, pattern, params) => {
    expect(router.match(method, path)).toMatchObject({ kind: "found", route: { path: pattern }, params });
  });

  test("distinguishes wrong methods from unknown paths", () => {
    expect(router.match("POST", "/servers/1")).toEqual({ kind: "wrong-method", allowed: ["GET", "DELETE"] });
    expect(router.match("GET", "/servers/1/tags")).toEqual({ kind: "unknown" });
    expect(router.match("GET", "/servers/%E0%A4%A")).toEqual({ kind: "unknown" });
  });

  test("rejects two routes with the same method and path", () => {
    const route = { method: "GET", path: "/a/:b" };
    expect(() => new Router([route, { method: "GET", path: "/a/:c" }])).toThrow("duplicate route: GET /a/:c");
  });

  const piece = fc.constantFrom("/", "%", "%2F", "a", "4", ".", ":", "servers", "detail", "tags", "other", "fixed");
  const path = fc.string({ unit: piece }).map((rest) => `/${rest}`);
  property([fc.string(), path])("every path has a match result", (method, path) => {
    expect(["found", "wrong-method", "unknown"]).toContain(router.match(method, path).kind);
  });
});

describe("the microversion of Compute", () => {
  property([fc.integer({ min: 1, max: 96 })])("each version in the range is accepted", (minor) => {
    expect(negotiateCompute({ headers: { "openstack-api-version": `compute 2.${minor}` } })).toBe(minor);
    expect(negotiateCompute({ headers: { "x-openstack-nova-api-version": `2.${minor}` } })).toBe(minor);
  });

  property([fc.string()])("every other string is malformed, unsupported or for another service", (text) => {
    if (!/compute\s/i.test(text)) {
      expect(negotiateCompute({ headers: { "openstack-api-version": text } })).toBe(1);
    }
  });
});

describe("readJson", () => {
  const read = (body: string, contentType?: string) =>
    readJson({ body, headers: contentType === undefined ? {} : { "content-type": contentType } }).kind;

  test.each([
    ["", undefined, "empty"],
    ["{}", undefined, "json"],
    ["{}", "application/json; charset=utf-8", "json"],
    ["{}", "text/plain", "other-type"],
    ["{", "application/json", "not-json"],
    [`"${"é".repeat(MESSAGE_LIMITS.nova.bytes / 2)}"`, undefined, "too-large"],
    [`[${"1,".repeat(MESSAGE_LIMITS.nova.members)}1]`, undefined, "too-large"],
    [`${"[".repeat(33)}${"]".repeat(33)}`, undefined, "not-json"],
  ])("%s %s: %s", (body, contentType, kind) => {
    expect(read(body, contentType)).toBe(kind);
  });
});

test.each([
  [null, "None"],
  [true, "True"],
  ["it's", '"it\'s"'],
  ['"it\'s"', "'\"it\\'s\"'"],
  ["a\n\u0007\u00a0é\u{1f600}", "'a\\n\\x07\\xa0é\u{1f600}'"],
  [[1, -2.5, "x"], "[1, -2.5, 'x']"],
  [{ a: { b: [] } }, "{'a': {'b': []}}"],
])("pythonRepr %j", (value, text) => {
  expect(pythonRepr(value)).toBe(text);
  expect(pythonStr(typeof value === "string" ? value : value)).toBe(typeof value === "string" ? value : text);
});

test("Query keeps order and repetitions", () => {
  const query = new Query(parseQuery("a=1&b=x%20y&a=2&c"));
  expect([query.get("a"), query.all("a"), query.get("c"), query.get("d")]).toEqual(["2", ["1", "2"], "", undefined]);
  expect(query.names).toEqual(["a", "b", "c"]);
});

describe("times", () => {
  test.each([
    ["2026-11-21T12:23:32Z", 32_000],
    ["2026-11-21T12:23:32", 32_000],
    ["2026-11-21 12:23:32.500000", 32_500],
    ["2026-11-21 12:23:32.123456", 32_123.456],
    ["2026-11-21T13:23:32,9999999+01:00", 32_999.999],
    ["2026-11-21T13:23:32+01:00", 32_000],
    ["2026-11-21T13:23:32+0100", 32_000],
    ["2026-11-21T13:23:32+01", 32_000],
    ["2026-11-21T12:23", 0],
  ])("%s", (text, offset) => {
    expect(parseIsoTime(text)).toBe(Date.UTC(2026, 10, 21, 12, 23) + offset);
  });

  test.each(["", "yesterday", "2026-13-01", "2026-11-21T25:00:00Z", "5", "2026-11-21T12:23:32X"])(
    "%s is invalid",
    (text) => {
      expect(parseIsoTime(text)).toBeUndefined();
    },
  );

  property([fc.integer({ min: 0, max: 4e12 })])("a formatted time can be parsed", (time) => {
    expect(parseIsoTime(isoMicroseconds(time))).toBe(time);
    expect(parseIsoTime(isoSeconds(time))).toBe(time - (time % 1000));
  });

  property([fc.integer({ min: 0, max: 4e15 })])("microseconds are preserved", (microseconds) => {
    const text = isoMicroseconds(microseconds / 1000);
    expect(text).toMatch(new RegExp(String.raw`\.\d{3}${String(microseconds % 1000).padStart(3, "0")}$`));
    expect(isoMicroseconds(parseIsoTime(text) ?? 0)).toBe(text);
  });

  property([fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 4e12 })])(
    "bounds of stored times match the rendered times",
    (stored, bound) => {
      const renderedTime = parseIsoTime(isoSeconds(stored)) ?? 0;
      expect(renderedTime).toBe(toSeconds(stored));
      expect(stored >= firstSince(bound)).toBe(renderedTime >= bound);
      expect(stored <= lastBefore(bound)).toBe(renderedTime <= bound);
      expect([stored >= firstSince(renderedTime), stored <= lastBefore(renderedTime)]).toEqual([true, true]);
    },
  );
});
