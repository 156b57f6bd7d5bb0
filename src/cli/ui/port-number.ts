import { InvalidArgumentError } from "commander";

/** A TCP port of the command line; 0 is any free one. */
export function portNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) {
    throw new InvalidArgumentError("expected a port, 0 to 65535.");
  }
  return value;
}
