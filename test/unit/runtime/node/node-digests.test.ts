import { expect, test } from "vitest";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";

test("scrypt computes the test vector of RFC 7914, N = 16384, r = 8, p = 1", async () => {
  expect(await nodeDigests.scrypt("pleaseletmein", "SodiumChloride")).toBe(
    "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2",
  );
});
