import { InvalidArgumentError } from "commander";

const MAX_NODES = 100_000;

/** The value of `--ironic`. */
export function nodeCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > MAX_NODES) {
    throw new InvalidArgumentError(`expected 0 to ${MAX_NODES}.`);
  }
  return value;
}
