import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Random } from "../random.js";

/** Bytes that are asked of the system at a time: to ask costs a hundred times what four bytes do. */
const DRAWN = 4_096;

export function nodeRandom(): Random {
  let drawn = randomBytes(0);
  const hex = (bytes: number): string => {
    if (bytes > DRAWN) {
      return randomBytes(bytes).toString("hex");
    }
    if (bytes > drawn.length) {
      drawn = randomBytes(DRAWN);
    }
    const digits = drawn.toString("hex", 0, bytes);
    drawn = drawn.subarray(bytes);
    return digits;
  };
  return {
    next: () => Math.random(),
    integer: (low, high) => randomInt(low, high + 1),
    uuid: () => randomUUID(),
    hex,
  };
}
