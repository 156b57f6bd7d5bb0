import type { Violation } from "../violation.js";
import type { World } from "../world.js";

/** Errors that are always bugs of the program. */
const BUG = /^.*(\b(?:TypeError|RangeError|ReferenceError|SyntaxError|AssertionError)\b|[Uu]nhandled|[Uu]ncaught).*$/gm;

/** Returns log lines since the previous call that indicate bugs, whatever the disruption. */
export function newBugsInLogs({ controlPlane, hosts }: World): Violation[] {
  const logs = [
    ["control plane", controlPlane.newLines()],
    ...hosts.map((host) => [host.name, host.newLines()]),
  ] as const;
  return logs.flatMap(([name = "", lines = ""]) =>
    [...lines.matchAll(BUG)].map(([line, kind]) => ({ subject: `${kind} of ${name}`, what: `${name} logs: ${line}` })),
  );
}
