import { describe, expect, test } from "vitest";
import { isHostName } from "../../../src/records/host-names.js";

describe("valid names of compute hosts", () => {
  test.each(["devstack1", "compute-0.example.org", "10.0.0.1", "fe80::1", "a_b", "héte", "...", "a".repeat(255)])(
    "%s",
    (name) => {
      expect(isHostName(name)).toBe(true);
    },
  );

  test.each([
    "",
    ".",
    "..",
    "../../escape",
    "a/b",
    "a\\b",
    "a b",
    "a\nb",
    "a\u001b[2J",
    "a\u2028b",
    "a%41",
    "a\u0000",
    "\ud800",
    "a".repeat(256),
  ])("not %j", (name) => {
    expect(isHostName(name)).toBe(false);
  });
});
