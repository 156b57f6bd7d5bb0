import { describe, expect, it } from "vitest";
import { Router } from "../../../../../src/control-plane/http/router.js";
import { pythonInt } from "../../../../../src/control-plane/placement/handlers/filters.js";
import { parseQuery } from "../../../../../src/control-plane/placement/http/call.js";
import { acceptable } from "../../../../../src/control-plane/placement/http/errors.js";
import { PLACEMENT_ROUTES } from "../../../../../src/control-plane/placement/placement-api.js";
import { World } from "../world.js";

describe("the microversion", () => {
  const send = (header: string) => new World().send("GET", "/", undefined, { "openstack-api-version": header });

  it.each([
    ["", 0],
    ["placement 1.10", 10],
    ["placement latest", 39],
    ["Placement  1.07", 7],
    ["compute 2.1", 0],
    ["placement 1.5, compute 2.1", 5],
    ["placement 1.5, placement 1.6", 6],
    ["placement", 0],
    ["1.5", 0],
  ])("of %j is 1.%i", (header, minor) => {
    expect(send(header).headers["openstack-api-version"]).toBe(`placement 1.${minor}`);
  });

  it.each([
    ["placement 1.40", 406, "Unacceptable version header: 1.40"],
    ["placement 0.9", 406, "Unacceptable version header: 0.9"],
    ["placement 1", 400, "missing 1 required positional argument: 'minor'"],
    ["placement LATEST", 400, "invalid literal for int() with base 10: 'LATEST'"],
    ["placement 1.10.1", 400, "invalid literal for int() with base 10: '10.1'"],
  ])("%s is rejected with %i", (header, status, message) => {
    const response = send(header);
    expect([response.status, response.headers["openstack-api-version"]]).toEqual([status, undefined]);
    expect(JSON.parse(response.body).errors[0].detail).toContain(message);
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

describe("parseQuery", () => {
  it("retains the order of repeated parameters and decodes them", () => {
    expect(parseQuery("a=1&b=x%20y+z&a=%E2%82%AC&c&=d&&e=50%")).toEqual([
      ["a", "1"],
      ["b", "x y z"],
      ["a", "€"],
      ["c", ""],
      ["", "d"],
      ["e", "50%"],
    ]);
  });

  it.each([
    ["a=%FF", "byte 0xff in position 0: invalid start byte"],
    ["a=x%E2%82", "byte 0xe2 in position 1: unexpected end of data"],
    ["a=%C3x", "byte 0xc3 in position 0: invalid continuation byte"],
  ])("rejects %s", (text, message) => {
    expect(() => parseQuery(text)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(message) }),
    );
  });
});

describe("the routes", () => {
  const router = new Router(PLACEMENT_ROUTES, true);

  it.each([
    ["/", {}],
    ["/traits", {}],
    ["/traits/CUSTOM_A", { name: "CUSTOM_A" }],
    ["/resource_providers/u/inventories/VCPU", { uuid: "u", class: "VCPU" }],
    ["/allocations/c", { uuid: "c" }],
  ])("have %s", (path, params) => {
    expect(router.match("GET", path)).toMatchObject({ kind: "found", params });
  });

  it.each([
    "/nothing",
    "/traits/",
    "/traits/a/b",
    "//traits",
    "/resource_providers//",
    "/resource_providers/u/traits/x",
    "/usages/x",
  ])("lack %s", (path) => {
    expect(router.match("GET", path)).toEqual({ kind: "unknown" });
  });

  it("have the allowed methods of a path, in upstream's order", () => {
    const allowed = ["GET", "DELETE", "PUT"];
    expect(router.match("POST", "/resource_providers/u")).toEqual({ kind: "wrong-method", allowed });
    expect(new World().send("HEAD", "/resource_providers/u").headers.allow).toBe("GET, DELETE, PUT");
  });

  it("find an encoded path as WSGI servers do, which decode it before they split it", () => {
    const world = new World();
    expect(world.send("GET", "/traits%2FHW_CPU_X86_AVX").status).toBe(204);
    expect(JSON.parse(world.send("GET", "/traits/%FF").body).errors[0].detail).toContain("No such trait(s): %FF.");
  });
});
