import { join } from "node:path";
import type { Files } from "../../../runtime/files.js";
import { driverTraceFile, type TracedCall } from "../../agent/driver-trace.js";

export interface HostCall extends TracedCall {
  readonly host: string;
}

/** Calls about one guest that began since then, on all hosts of a state directory, in order of their beginnings. */
export async function driverCalls(
  files: Files,
  agents: string,
  instance: string,
  since: number,
): Promise<readonly HostCall[]> {
  const hosts = await files.list(agents);
  const calls = await Promise.all(
    hosts.map(async (host) => {
      const text = await files.readIfPresent(driverTraceFile(join(agents, host)));
      return linesOf(text ?? "").map((call) => ({ host, ...call }));
    }),
  );
  return calls
    .flat()
    .filter((call) => call.instance === instance && call.at >= since)
    .toSorted((one, other) => one.at - other.at);
}

/** The last line may be half written. */
function linesOf(text: string): readonly TracedCall[] {
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TracedCall);
}

/** Any host of the state directory traces its driver. */
export async function isTraced(files: Files, agents: string): Promise<boolean> {
  const found = await Promise.all(
    (await files.list(agents)).map((host) => files.stat(driverTraceFile(join(agents, host)))),
  );
  return found.some((stat) => stat !== undefined);
}

/** Reads of a guest's state say nothing about an operation. */
const QUIET: ReadonlySet<string> = new Set(["getInfo", "instanceExists", "instanceOnDisk"]);

/** `spawn, powerOff x2 | finishMigration`: by host, in order; a call that failed has its outcome behind it. */
export function callsText(calls: readonly HostCall[]): string {
  const reported = calls.filter(({ method }) => !QUIET.has(method));
  const several = new Set(reported.map(({ host }) => host)).size > 1;
  return reported
    .map(({ host, method, outcome }) => {
      const call = outcome === "success" ? method : `${method} (${outcome})`;
      return several ? `${host}: ${call}` : call;
    })
    .join(", ");
}
