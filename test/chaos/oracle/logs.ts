import type { Violation } from "../violation.js";
import type { World } from "../world.js";

/** Errors that are never anybody's fault but the program's. */
const BUG = /^.*(\b(?:TypeError|RangeError|ReferenceError|SyntaxError|AssertionError)\b|[Uu]nhandled|[Uu]ncaught).*$/gm;

/** What a program's log should not say, whatever is done to it. */
export function bugsInLogs({ controlPlane, hosts }: World): Violation[] {
  const outputs: readonly (readonly [string, string])[] = [
    ["control plane", controlPlane.output],
    ...hosts.map(({ name, output }) => [name, output] as const),
  ];
  return outputs.flatMap(([name, output]) =>
    [...output.matchAll(BUG)].map(([line, kind]) => ({ subject: `${kind} of ${name}`, what: `${name} logs: ${line}` })),
  );
}
