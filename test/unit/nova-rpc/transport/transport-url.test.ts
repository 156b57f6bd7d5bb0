import { describe, expect, it } from "vitest";
import { parseTransportUrl as parse, withoutPasswords } from "../../../../src/nova-rpc/transport/transport-url.js";

describe("transport_url", () => {
  it("contains hosts, user and virtual host, percent-encoded", () => {
    expect(parse("rabbit://us%40er:p%2Fw@h1:5673,us%40er:p%2Fw@[::1]/my%2Fhost?ssl=1")).toEqual({
      hosts: [
        { hostname: "h1", port: 5673 },
        { hostname: "::1", port: 5672 },
      ],
      username: "us@er",
      password: "p/w",
      virtualHost: "my/host",
    });
  });

  it.each([
    ["rabbit://u:p@h", "/"],
    ["rabbit://u:p@h/", "/"],
    ["rabbit://u:p@h//", "/"],
    ["rabbit://u:p@h/nova", "nova"],
    ["rabbit://u:p@h/%2F", "/"],
  ])("%s has the virtual host %s", (url, virtualHost) => {
    expect(parse(url)).toMatchObject({ virtualHost, hosts: [{ hostname: "h", port: 5672 }] });
  });

  it.each([
    "http://h",
    "rabbit://",
    "rabbit://u:p@",
    "rabbit://u:secret@h1,v:secret@h2/",
    "rabbit://u:%zz@h",
    "rabbit://u:p@fe80::1/",
  ])("is rejected without its password in the message: %s", (url) => {
    expect(() => parse(url)).toThrow(expect.objectContaining({ code: "InvalidTransportUrl" }));
    expect(() => parse(url)).not.toThrow(/secret/);
  });

  it("is displayed without user and password", () => {
    expect(withoutPasswords(parse("rabbit://u:secret@h1,u:secret@h2/nova"))).toBe("rabbit://h1:5672,h2:5672/nova");
  });
});
