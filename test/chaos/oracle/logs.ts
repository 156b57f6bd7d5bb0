import type { Violation } from "../violation.js";
import type { World } from "../world.js";

/** Errors that are never anybody's fault but the program's. */
const BUG = /^.*(\b(?:TypeError|RangeError|ReferenceError|SyntaxError|AssertionError)\b|[Uu]nhandled|[Uu]ncaught).*$/gm;

/** What programs have logged since the last look, and should not, whatever is done to them. */
export function newBugsInLogs({ controlPlane, hosts }: World): Violation[] {
  const logs = [
    ["control plane", controlPlane.newLines()],
    ...hosts.map((host) => [host.name, host.newLines()]),
  ] as const;
  return logs.flatMap(([name = "", lines = ""]) =>
    [...lines.matchAll(BUG)].map(([line, kind]) => ({ subject: `${kind} of ${name}`, what: `${name} logs: ${line}` })),
  );
}
