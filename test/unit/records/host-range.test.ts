import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandHosts, foldHosts, MAX_HOSTS } from "../../../src/records/host-names.js";

describe("ranges of hosts", () => {
  test.each<[string, readonly string[]]>([
    ["devstack1", ["devstack1"]],
    ["a,b", ["a", "b"]],
    [" a , b ", ["a", "b"]],
    ["n[1-3]", ["n1", "n2", "n3"]],
    ["n[08-11]", ["n08", "n09", "n10", "n11"]],
    ["n[98-101]", ["n98", "n99", "n100", "n101"]],
    ["n[1-3,7]", ["n1", "n2", "n3", "n7"]],
    ["n[01,2].example.org", ["n01.example.org", "n2.example.org"]],
    ["r[1-2]-n[01-02]", ["r1-n01", "r1-n02", "r2-n01", "r2-n02"]],
    ["a,n[1-2],n2,a", ["a", "n1", "n2"]],
    ["[1-2]", ["1", "2"]],
    ["n[0]", ["n0"]],
  ])("%s", (text, names) => {
    expect(expandHosts(text)).toEqual(names);
  });

  test.each<[string, RegExp]>([
    ["", /found no name at character 1/],
    ["a,,b", /found no name at character 3/],
    ["a,", /found no name at character 3/],
    ["n[1-3", /found "\[" at character 2 without its counterpart/],
    ["n1]", /found "\]" at character 3/],
    ["n[[1-2]]", /found "\[" at character 2/],
    ["n[]", /found "" at character 3, expected a number or a range such as 01-20/],
    ["n[1-]", /found "1-" at character 3/],
    ["n[1,x]", /found "x" at character 5/],
    ["n[3-1]", /found "3-1" at character 3, expected an ascending range/],
    ["n[1-010]", /as many digits at both ends/],
    ["n[1-1e9]", /found "1-1e9"/],
    ["n[1-10001]", /more than 10000 names at "n\[1-10001\]"/],
    ["n[1-9999999999999999]", /at most 15 digits/],
    ["n[1-100]-[1-101]", /more than 10000/],
    ["a b", /found the name "a b"/],
    ["../n[1-2]", /found the name "..\/n1"/],
  ])("%s is rejected with the position", (text, message) => {
    expect(() => expandHosts(text)).toThrow(message);
  });

  test("expand to the max number of names", () => {
    expect(expandHosts("rack[01-20]-node[001-500]")).toHaveLength(MAX_HOSTS);
  });
});

describe("folded names", () => {
  test.each<[string, string]>([
    ["a", "a"],
    ["n1,n2,n3,n7", "n[1-3,7]"],
    ["n9,n10", "n[9-10]"],
    ["n09,n10", "n[09-10]"],
    ["n1,n01", "n1,n01"],
    ["n3,n1", "n[1,3]"],
    ["rack[01-20]-node[001-050]", "rack[01-20]-node[001-050]"],
    ["r1n1,r1n2,r2n1", "r1n[1-2],r2n1"],
    ["b,a1,a2", "b,a[1-2]"],
  ])("%s", (names, folded) => {
    expect(foldHosts(expandHosts(names))).toBe(folded);
  });

  test("expand to the same names", () => {
    const number = fc.oneof(
      fc.nat(12).map(String),
      fc.nat(12).map((n) => String(n).padStart(3, "0")),
    );
    const name = fc.tuple(fc.constantFrom("n", "rack", "x-"), number, fc.constantFrom("", "-", ".o"), number);
    fc.assert(
      fc.property(
        fc.array(
          name.map((parts) => parts.join("")),
          { maxLength: 40, minLength: 1 },
        ),
        (names) => {
          expect([...expandHosts(foldHosts(names))].sort()).toEqual([...new Set(names)].sort());
        },
      ),
    );
  });

  test("leave a single name unchanged", () => {
    expect(foldHosts(["n99999999999999999999", "héte"])).toBe("n99999999999999999999,héte");
  });
});
