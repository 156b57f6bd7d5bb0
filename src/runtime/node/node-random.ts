import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Random } from "../random.js";

export function nodeRandom(): Random {
  return {
    next: () => Math.random(),
    integer: (low, high) => randomInt(low, high + 1),
    uuid: () => randomUUID(),
    hex: (bytes) => randomBytes(bytes).toString("hex"),
  };
}
