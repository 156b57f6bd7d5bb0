import { describe, expect, it } from "vitest";
import { Query } from "../../../../../src/control-plane/placement/http/call.js";
import { acceptable } from "../../../../../src/control-plane/placement/http/errors.js";
import { httpDate, negotiate, pythonInt } from "../../../../../src/control-plane/placement/http/headers.js";
import { matchRoute } from "../../../../../src/control-plane/placement/http/routes.js";

describe("negotiate", () => {
  it.each([
    [undefined, 0],
    ["placement 1.10", 10],
    ["placement latest", 39],
    ["Placement  1.07", 7],
    ["compute 2.1", 0],
    ["placement 1.5, compute 2.1", 5],
    ["placement 1.5, placement 1.6", 6],
    ["placement", 0],
    ["1.5", 0],
  ])("%s is 1.%i", (header, minor) => {
    expect(negotiate(header)).toBe(minor);
  });

  it.each([
    ["placement 1.40", 406, "Unacceptable version header: 1.40"],
    ["placement 0.9", 406, "Unacceptable version header: 0.9"],
    ["placement 1", 400, "missing 1 required positional argument: 'minor'"],
    ["placement LATEST", 400, "invalid literal for int() with base 10: 'LATEST'"],
    ["placement 1.10.1", 400, "invalid literal for int() with base 10: '10.1'"],
  ])("rejects %s with %i", (header, status, message) => {
    expect(() => negotiate(header)).toThrow(
      expect.objectContaining({ status, message: expect.stringContaining(message) }),
    );
  });
});

describe("pythonInt", () => {
  it.each([
    ["1", 1],
    [" 2 ", 2],
    ["+3", 3],
    ["-4", -4],
    ["1_000", 1000],
    ["1.0", undefined],
    ["", undefined],
    ["1__0", undefined],
  ])("%j is %s", (text, number) => {
    expect(pythonInt(text)).toBe(number);
  });
});

describe("acceptable", () => {
  const offers = ["text/html", "application/json"];

  it.each([
    ["application/json", ["application/json"]],
    ["text/html, application/json;q=0.9", ["text/html", "application/json"]],
    ["text/html;q=0.1, application/json", ["application/json", "text/html"]],
    ["*/*", offers],
    ["application/*", ["application/json"]],
    ["application/json;q=0, text/plain", []],
    ["text/plain", []],
    ["garbage", offers],
    ["*/*, text/html;q=0", ["application/json"]],
  ])("%s", (accept, expected) => {
    expect(acceptable(accept, offers)).toEqual(expected);
  });
});

describe("Query", () => {
  it("retains the order of repeated parameters and decodes them", () => {
    const query = new Query("a=1&b=x%20y+z&a=%E2%82%AC&c&=d&&e=50%");
    expect(query.entries).toEqual([
      ["a", "1"],
      ["b", "x y z"],
      ["a", "€"],
      ["c", ""],
      ["", "d"],
      ["e", "50%"],
    ]);
    expect(query.get("a")).toBe("€");
    expect(query.all("a")).toEqual(["1", "€"]);
    expect(query.get("none")).toBeUndefined();
  });

  it.each([
    ["a=%FF", "byte 0xff in position 0: invalid start byte"],
    ["a=x%E2%82", "byte 0xe2 in position 1: unexpected end of data"],
    ["a=%C3x", "byte 0xc3 in position 0: invalid continuation byte"],
  ])("rejects %s", (text, message) => {
    expect(() => new Query(text)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(message) }),
    );
  });
});

describe("httpDate", () => {
  it.each([0, 951_782_400_000, 1_709_164_799_999, 1_795_269_820_123, 4_102_444_800_000])("%i", (time) => {
    expect(httpDate(time)).toBe(new Date(time).toUTCString());
  });

  it("is correct on every day of four hundred years", () => {
    for (let day = 0; day < 146_097; day += 1) {
      const time = day * 86_400_000;
      if (httpDate(time) !== new Date(time).toUTCString()) {
        expect(httpDate(time)).toBe(new Date(time).toUTCString());
      }
    }
    expect.assertions(0);
  });
});

describe("matchRoute", () => {
  it.each([
    ["/", []],
    ["/traits", []],
    ["/traits/CUSTOM_A", ["CUSTOM_A"]],
    ["/resource_providers/u/inventories/VCPU", ["u", "VCPU"]],
    ["/allocations/c", ["c"]],
  ])("%s", (path, params) => {
    expect(matchRoute(path)?.params).toEqual(params);
  });

  it.each([
    "/nothing",
    "/traits/",
    "/traits/a/b",
    "//traits",
    "/resource_providers//",
    "/resource_providers/u/traits/x",
    "/usages/x",
  ])("has no route for %s", (path) => {
    expect(matchRoute(path)).toBeUndefined();
  });

  it("returns the allowed methods of a path", () => {
    expect(matchRoute("/resource_providers/u")?.route.allow).toBe("GET, DELETE, PUT");
  });
});
