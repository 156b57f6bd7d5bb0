import { join } from "node:path";
import { type Command, Option } from "commander";
import { type CloudSession, openCloudSession } from "../../../control-plane/local/cloud-session.js";
import type { Files } from "../../../runtime/files.js";
import { driverTraceFile, type TracedCall } from "../../agent/driver-trace.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import { type Column, renderTable } from "../../ui/table.js";
import { type ClusterContext, clusterCommand, inCluster } from "../cluster-command.js";
import { COMPUTE_VERSION, computeServices } from "../compute-services.js";
import { failHost, SMOKE_TEST_OPERATIONS, type SmokeTestResources, type SmokeTestResult } from "./operations.js";
import { SmokeTest } from "./smoke-test.js";

interface HostCall extends TracedCall {
  readonly host: string;
}

/** Reads of a guest's state, which are not specific to an operation. */
const QUIET: ReadonlySet<string> = new Set(["getInfo", "instanceExists", "instanceOnDisk"]);

interface SmokeTestCommandOptions {
  readonly only?: readonly string[];
  readonly timeout: string;
  /** The former name of `timeout`. */
  readonly patience?: string;
  readonly json?: true;
}

export function smokeTestCommand(): Command {
  return clusterCommand("smoke-test")
    .summary("Run all operations of the Compute API on a server")
    .description(
      "Creates a server, runs each operation of the API on it, and prints the driver calls in order, the duration and the " +
        "result. Driver calls are known for agents that trace them (`up --driver`); for an evacuation, the agent of a host " +
        "that `up` has started is suspended and later crashed.",
    )
    .option(
      "--only <operations>",
      `operations, separated by commas: ${SMOKE_TEST_OPERATIONS.map(({ name }) => name).join(", ")}`,
      names,
    )
    .option("--timeout <seconds>", "timeout of each operation in seconds", "60")
    .addOption(new Option("--patience <seconds>").hideHelp())
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "no operation failed; unsupported operations are not failures",
        1: "an operation failed, or a server could not be created or deleted",
      }),
    )
    .action(inCluster(runSmokeTest));
}

const names = (text: string): readonly string[] => text.split(",").map((name) => name.trim());

async function runSmokeTest(
  { directory, runtime, terminal }: ClusterContext,
  options: SmokeTestCommandOptions,
): Promise<number> {
  const known = new Set(SMOKE_TEST_OPERATIONS.map(({ name }) => name));
  const unknown = options.only?.find((name) => !known.has(name));
  const timeoutMs = Number(options.patience ?? options.timeout) * 1000;
  if (unknown !== undefined || !(timeoutMs > 0)) {
    throw new CommandError(
      ExitCode.usage,
      unknown === undefined
        ? `found --timeout ${options.patience ?? options.timeout}, expected a number of seconds`
        : `there is no operation ${unknown}; there are ${[...known].join(", ")}`,
    );
  }
  const signal = interruptSignal();
  const agents = directory.agents;
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const run = new SmokeTest({
    session,
    clock: runtime.clock,
    timers: runtime.timers,
    places: await placesOf(session),
    hosts: await hostsUp(session),
    ...(options.only === undefined ? {} : { only: options.only }),
    timeoutMs,
    signal,
    failHost: (host) => failHost(host, { runtime, directory, session, timeoutMs }),
    callsSince: async (server, since) => callsText(await driverCalls(runtime.files, agents, server, since)),
  });
  const progress = (result: SmokeTestResult) => {
    if (options.json !== true && terminal.interactive) {
      terminal.print(`${result.operation}: ${result.outcome}`);
    }
  };
  const results = await run.run(progress);
  terminal.print(
    options.json === true
      ? JSON.stringify(withFormerNames(results, { outcome: "verdict" }), null, 2)
      : renderTable(COLUMNS, results, terminal.columns),
  );
  if (options.json !== true && !(await isTraced(runtime.files, agents))) {
    terminal.complain(
      "No agent traces its driver calls: start agents with `compute-agent up --driver`, or --trace-driver.",
    );
  }
  for (const leftover of run.leftovers) {
    terminal.complain(`compute-agent smoke-test: not deleted: ${leftover}; delete it with OpenStack's client`);
  }
  const failed = results.some(({ outcome }) => outcome === "failed") || run.leftovers.length > 0;
  if (failed && options.json !== true) {
    terminal.complain(`See the logs of the agents: ${directory.logs}/*.log`);
  }
  if (signal.aborted) {
    const cleaned = run.leftovers.length === 0 ? "; the server of the smoke test is deleted" : "";
    terminal.complain(`compute-agent: interrupted${cleaned}`);
    return ExitCode.failure;
  }
  return failed ? ExitCode.failure : ExitCode.ok;
}

const COLUMNS: readonly Column<SmokeTestResult>[] = [
  { title: "Operation", value: (row) => row.operation },
  { title: "Calls of the driver", value: (row) => row.calls || "-", wraps: true },
  { title: "ms", value: (row) => String(row.milliseconds), align: "right" },
  {
    title: "Outcome",
    value: (row) => (row.reason === "" ? row.outcome : `${row.outcome}: ${row.reason}`),
    wraps: true,
  },
];

interface ImageView {
  readonly id: string;
  readonly min_ram: number;
  readonly min_disk: number;
  readonly image_type?: string;
}

interface FlavorView {
  readonly id: string;
  readonly vcpus: number;
  readonly ram: number;
  readonly disk: number;
}

/** Returns an active image that is not a snapshot of a server, and the two smallest flavors with CPUs that fit it. */
async function placesOf(session: CloudSession): Promise<SmokeTestResources> {
  const { images } = (await session.request("image", "GET", "/v2/images?status=active", "2.0")) as {
    images: readonly ImageView[];
  };
  const image = images.find(({ image_type: type }) => type !== "snapshot" && type !== "backup") ?? images[0];
  const listed = (await session.request("compute", "GET", "/flavors/detail", COMPUTE_VERSION)) as {
    flavors: readonly FlavorView[];
  };
  const flavors = listed.flavors
    .filter(({ vcpus, disk }) => vcpus > 0 && disk > 0)
    .filter(({ ram, disk }) => ram >= (image?.min_ram ?? 0) && disk >= (image?.min_disk ?? 0))
    .toSorted((one, other) => one.ram - other.ram);
  const flavor = flavors[0]?.id;
  if (image === undefined || flavor === undefined) {
    throw new Error(
      "the cloud has no active image, or no flavor with CPUs and a disk that the image fits; a smoke test needs one of each",
    );
  }
  return { image: image.id, flavor, largerFlavor: flavors[1]?.id ?? flavor };
}

async function hostsUp(session: CloudSession): Promise<number> {
  const services = await computeServices(session);
  return services.filter(({ state, status }) => state === "up" && status === "enabled").length;
}

/** Returns the driver calls about one guest since a time, on all hosts of a state directory, ordered by start. */
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

/** Ignores the last line, which may be incomplete. */
function linesOf(text: string): readonly TracedCall[] {
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TracedCall);
}

export async function isTraced(files: Files, agents: string): Promise<boolean> {
  const found = await Promise.all(
    (await files.list(agents)).map((host) => files.stat(driverTraceFile(join(agents, host)))),
  );
  return found.some((stat) => stat !== undefined);
}

/**
 * Formats calls as `spawn, powerOff x2
 * finishMigration`: by host, in order; a failed call is followed by its outcome.
 */
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
