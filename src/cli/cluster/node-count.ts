import { InvalidArgumentError } from "commander";

const MOST = 100_000;

/** The value of `--ironic`. */
export function nodeCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > MOST) {
    throw new InvalidArgumentError(`expected 0 to ${MOST}.`);
  }
  return value;
}
