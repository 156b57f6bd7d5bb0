import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { HashRing } from "../../../../drivers/ironic/node-listing.js";
import { md5 } from "../../../../src/virt/index.js";

interface Vectors {
  readonly rings: readonly { readonly hosts: readonly string[]; readonly owner: Readonly<Record<string, string>> }[];
}

const vectors: Vectors = JSON.parse(
  await readFile(new URL("../../../fixtures/golden/ironic/hashring.json", import.meta.url), "utf8"),
);

test.each([
  "",
  "a",
  "compute-1",
  "ü".repeat(40),
  ..."x"
    .repeat(130)
    .split("")
    .map((_, at) => "y".repeat(at)),
])("MD5 of %j", (text) => {
  expect(md5(text)).toBe(createHash("md5").update(text).digest("hex"));
});

describe.each(vectors.rings.map(({ hosts, owner }) => [hosts.join(" "), hosts, owner] as const))(
  "the ring of %s",
  (_, hosts, owner) => {
    test("assigns each node to the same host as tooz", () => {
      const ring = new HashRing(hosts.map((host) => host.toUpperCase()));
      expect(Object.keys(owner).length).toBe(60);
      expect(Object.fromEntries(Object.keys(owner).map((node) => [node, ring.ownerOf(node)]))).toEqual(owner);
    });
  },
);

test("an empty ring has no owners", () => {
  expect(new HashRing([]).ownerOf("11111111-1111-4111-8111-111111111111")).toBeUndefined();
});
