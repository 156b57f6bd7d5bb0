import { describe, expect, it } from "vitest";
import { type Act, firstUnexplained } from "../../../simulator/histories/linearizable.js";
import { Registers } from "../../../simulator/histories/registers.js";

/** A compare-and-swap of a number that was carried out. */
const swap = (invoked: number, completed: number, from: number, to: number): Act<number> => ({
  invoked,
  completed,
  apply: (state) => (state === from ? to : undefined),
  what: `${from} to ${to}`,
});

describe("a history of one record", () => {
  it("is explained by the order in which acts were answered, or by another one", () => {
    expect(firstUnexplained(0, [swap(1, 2, 0, 1), swap(3, 4, 1, 2)])).toBeNull();
    expect(firstUnexplained(0, [swap(1, 4, 1, 2), swap(2, 3, 0, 1)])).toBeNull();
  });

  it("is not, when an update is lost: two found the same", () => {
    expect(firstUnexplained(0, [swap(1, 3, 0, 1), swap(2, 4, 0, 2)])?.what).toBe("0 to 2");
  });

  it("is not, when an act would have to come before one that had ended", () => {
    expect(firstUnexplained(0, [swap(1, 2, 1, 2), swap(3, 4, 0, 1)])?.what).toBe("1 to 2");
  });

  it("lets what was never answered have been done, at any later time, or not at all", () => {
    const unanswered = swap(1, Number.POSITIVE_INFINITY, 0, 1);
    expect(firstUnexplained(0, [unanswered, swap(2, 3, 0, 5)])).toBeNull();
    expect(firstUnexplained(0, [unanswered, swap(2, 3, 1, 5)])).toBeNull();
    expect(firstUnexplained(0, [unanswered, swap(2, 3, 0, 0), swap(4, 5, 1, 5), swap(6, 7, 1, 5)])?.what).toBe(
      "1 to 5",
    );
  });
});

describe("a register", () => {
  const at = (invoked: number, completed: number) => ({ invoked, completed });

  it("has what was written last", () => {
    const registers = new Registers();
    registers.wrote("server", "name", "one", { ...at(1, 2), outcome: "done" });
    registers.wrote("server", "name", "two", { ...at(3, 6), outcome: "done" });
    registers.read("server", "name", "one", at(4, 5));
    registers.read("server", "name", "two", at(7, 8));
    expect(registers.violations()).toEqual([]);
    registers.read("server", "name", "one", at(9, 10));
    expect(registers.violations()).toMatchObject([
      { subject: "server", what: expect.stringMatching(/^its name was found to be "one", although/) },
    ]);
  });

  it("has not what was refused, and may have what was not answered", () => {
    const registers = new Registers();
    registers.wrote("server", "tags", ["a"], { ...at(1, 2), outcome: "done" });
    registers.wrote("server", "tags", ["b"], { ...at(3, 4), outcome: "unknown" });
    registers.read("server", "tags", ["a"], at(5, 6));
    registers.read("server", "tags", ["b"], at(7, 8));
    expect(registers.violations()).toEqual([]);
    registers.wrote("server", "tags", ["c"], { ...at(9, 10), outcome: "refused" });
    registers.read("server", "tags", ["c"], at(11, 12));
    expect(registers.violations()).toHaveLength(1);
  });

  it("is read before it is written: whatever it has is believed", () => {
    const registers = new Registers();
    registers.read("service", "disabled", false, at(1, 2));
    registers.read("service", "disabled", false, at(3, 4));
    expect(registers.violations()).toEqual([]);
    registers.read("service", "disabled", true, at(5, 6));
    expect(registers.violations()).toHaveLength(1);
  });
});
