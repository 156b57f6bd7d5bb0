import { AgentStopped } from "../../agent/lifecycle/agent.js";
import { toStartupRejection } from "../../agent/rejections.js";
import { excludeFromGit } from "../../control-plane/local/state-dir.js";
import type { FaultFile } from "../../faults/fault-file.js";
import { createFaultyRuntime } from "../../faults/fault-injection.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { CleanupStack } from "../../runtime/lifetime.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Timers } from "../../runtime/time.js";
import { parsedOptions } from "../ui/command-line.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode, exitCodeOf, toDo } from "../ui/exit-code.js";
import { leaveParent, notifyParent, onAddHosts, onParentGone, runWorkLoop } from "../ui/process-lifecycle.js";
import { createTerminal } from "../ui/terminal.js";
import { openFaults } from "./agent-faults.js";
import { agentTls, connect, tlsOptionsOf } from "./connect.js";
import { DriverGuard } from "./driver-guard.js";
import { createAgentHosts, openMetrics, type SharedParts, UnhandledDriverErrors } from "./host-lifecycle.js";
import { createStartLogger, HostReport, HostsReport, type Report } from "./host-reports.js";
import { type LoadedHosts, loadHosts, logWarnings } from "./load-config.js";
import { type AgentCommandOptions, agentCommand, serviceVersionOf } from "./options.js";

/** Decides when and why the work of an agent process ends. */
class EndOfProcess {
  readonly #abort = new AbortController();
  readonly #logger: Logger;
  #broken: Error | undefined;
  readonly #rest: AbortSignal;
  #stop: () => void = () => {};
  #stopRequests = 0;

  constructor(logger: Logger, rest: AbortSignal) {
    this.#logger = logger;
    this.#rest = rest;
  }

  /** Aborted once the process is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the process continues with other work; its current work ends as `kill -9` would end it. */
  get rests(): boolean {
    return this.#rest.aborted;
  }

  /** The failure that ends the process and belongs to no host; undefined if the end was requested. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Calls `action` when the process is to end; immediately if it already is. */
  onStop(action: () => void): void {
    this.#stop = action;
    if (this.signal.aborted) {
      action();
    }
  }

  breakOff(reason: Error): void {
    this.#broken ??= reason;
    this.#abort.abort();
    this.#stop();
  }

  /** Ends the work immediately. */
  cut(): void {
    this.#abort.abort();
    this.#stop();
  }

  /** Handles SIGINT and SIGTERM. */
  ask(): void {
    this.#stopRequests += 1;
    // A second signal is deliberate. The next start repairs an interrupted operation.
    if (this.#stopRequests > 1) {
      this.#logger.warn("second stop signal: the agent exits immediately, without waiting for operations");
      process.exit(ExitCode.failure);
    }
    this.#abort.abort();
    notifyParent({ type: "component", state: "stopping", detail: "" });
    this.#stop();
  }
}

/** Runs the agent until it is stopped, its start is rejected, or it loses its host. */
export async function serve(options: AgentCommandOptions): Promise<number> {
  const guard = new DriverGuard("compute-agent");
  try {
    const code = await runWorkLoop(options, {
      parse: (args) => parsedOptions(agentCommand, args),
      live: async (runOptions, rest) => {
        const cleanup = new CleanupStack();
        try {
          return await serveWith(runOptions, guard, rest, cleanup);
        } finally {
          await cleanup.close();
        }
      },
    });
    return code ?? ExitCode.ok;
  } finally {
    leaveParent();
  }
}

/** @param cleanup receives everything that must be closed at the end, however the end comes */
async function serveWith(
  options: AgentCommandOptions,
  guard: DriverGuard,
  rest: AbortSignal,
  cleanup: CleanupStack,
): Promise<number> {
  const terminal = createTerminal();
  const logger = createLogger({
    level: options.debug === true ? "debug" : "info",
    format: options.logFormat,
    colour: terminal.interactive && process.env.NO_COLOR === undefined,
  });
  const files = new NodeFiles();
  const loaded = await loadHosts(options, files, guard);
  const { names, first } = loaded;
  const { config } = first.compiled;
  const single = names.length === 1 && options.pool !== true;
  const tls = await agentTls(config, files, tlsOptionsOf(first));
  const runtime = createNodeRuntime({ logger, ...tls, connections: config.placement.maxConnections });
  cleanup.add(() => runtime.http.close());
  logWarnings(logger, first.compiled);
  const outlet = await openMetrics(options.metricsPort, runtime);
  cleanup.add(() => outlet.close());
  if (outlet.url !== null) {
    terminal.print(`metrics on ${outlet.url}`);
  }
  // A host with its own connection can be cut off from the control plane by a fault.
  if (config.defaults.statePath.startsWith(first.directory.root)) {
    await excludeFromGit(files, first.directory.root);
  }
  const faultFile = single ? await openFaults(config.defaults.statePath, runtime) : null;
  cleanup.add(() => faultFile?.close());
  cleanup.add(guard.watchLoop(logger, { json: options.logFormat === "json" }));
  const end = endOnSignals(logger, cleanup, rest);
  const unhandledErrors = new UnhandledDriverErrors(logger, (reason) => end.breakOff(reason));
  guard.onUnhandledError((unhandledError) => unhandledErrors.take(unhandledError));
  try {
    const faultRuntime = faultFile === null ? runtime : createFaultyRuntime(runtime, faultFile.faults);
    const report = single ? new HostReport(runtime) : new HostsReport(runtime);
    const connection = await connect(config, first.directory, faultRuntime, end.signal, {
      observer: outlet.forHost(single ? config.defaults.host : ""),
      hosts: options.host ?? config.defaults.host,
      onAgain: () => report.connectedAgain(),
    });
    cleanup.add(() => connection.close());
    outlet.watchConnection(connection);
    const shared = {
      runtime,
      connection,
      outlet,
      unhandledErrors,
      traceDriver: options.traceDriver === true,
      serviceVersion: serviceVersionOf(options) ?? connection.serviceVersion,
    };
    return await serveHosts(loaded, shared, { faultFile, report, end, cleanup });
  } catch (error) {
    if (end.rests) {
      // Some work may still be pending, so the process is not reused.
      throw error;
    }
    const stopRequested = end.broken === undefined && end.signal.aborted;
    return failed(end.broken ?? error, stopRequested, (text) => terminal.complain(text));
  }
}

/**
 * Maximum number of hosts that start concurrently under a real Nova. Its conductor has 55 database connections, and fails
 * requests that waited 30 s for one.
 */
const STARTING_UNDER_NOVA = 16;

/** Milliseconds after which the serving hosts are reported, even if others still start. */
const START_TIMEOUT_MS = 60_000;

function afterwards(timers: Timers, milliseconds: number, unless: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = timers.after(milliseconds, resolve);
    void unless.finally(cancel);
  });
}

interface ServingOptions {
  /** The faults of the only host; null if the process may have several. */
  readonly faultFile: FaultFile | null;
  readonly report: Report;
  readonly end: EndOfProcess;
  readonly cleanup: CleanupStack;
}

/** Serves the hosts until none is running. @throws the failure of the first failed host, unless a stop was requested */
async function serveHosts(
  loaded: LoadedHosts,
  shared: SharedParts,
  { faultFile, report, end, cleanup }: ServingOptions,
): Promise<number> {
  const { timers, logger } = shared.runtime;
  const single = faultFile !== null;
  const hosts = createAgentHosts(loaded, shared, {
    timers,
    faultFile,
    observe: (host) => {
      let starting = !single;
      const warned = (message: string) => report.warned?.(host, message);
      return {
        ...(single ? {} : { logger: createStartLogger(logger, () => (starting ? warned : null)) }),
        onServing: () => {
          starting = false;
        },
        onProgress: (state) => report.progress?.(host, state),
      };
    },
    onState: (status, announce) => {
      if (!end.rests) {
        report.changed?.(status);
        announce();
      }
    },
    ...(loaded.first.compiled.config.defaults.transportUrl === null ? {} : { starting: STARTING_UNDER_NOVA }),
    ...(single ? { killProcess: () => process.kill(process.pid, "SIGKILL") } : {}),
  });
  let cut: Promise<void> | undefined;
  end.onStop(() => {
    if (end.rests) {
      cut = hosts.cut();
    } else {
      void hosts.stop();
    }
  });
  const reset = () => {
    for (const run of hosts.runs) {
      run.reset();
    }
  };
  process.on("SIGHUP", reset);
  cleanup.add(() => void process.off("SIGHUP", reset));
  const forget = onAddHosts((added) => void (single ? report.rejectHosts?.(added) : hosts.add(added)));
  cleanup.add(() => forget?.());
  report.begin?.();
  const added = hosts.add(loaded.names);
  // A host that starts slowly does not delay the report about the others.
  await Promise.race([added, afterwards(timers, START_TIMEOUT_MS, added)]);
  report.started?.();
  await added;
  await hosts.idle;
  await cut;
  report.close?.();
  const failure = hosts.statuses.find(({ state }) => state === "failed");
  if (end.broken !== undefined || (failure !== undefined && !end.signal.aborted)) {
    throw end.broken ?? failure?.error;
  }
  return ExitCode.ok;
}

function failed(error: unknown, stopRequested: boolean, complain: (text: string) => void): number {
  if (error instanceof AgentStopped || stopRequested) {
    return ExitCode.ok;
  }
  const message = errorMessage(error);
  notifyParent({ type: "component", state: "failed", detail: message });
  const rejection = toStartupRejection(error);
  if (rejection !== null) {
    complain(`compute-agent: the start was rejected (${rejection.code}): ${message}`);
    complain(
      rejection.untouched
        ? "Nothing was touched. --dry-run shows the same without starting."
        : "What start-up had done before that stays; the next start goes on from there.",
    );
    return ExitCode.rejected;
  }
  complain(`compute-agent: ${message}${toDo(error)}`);
  if (process.env.DEBUG !== undefined && error instanceof Error) {
    complain(error.stack ?? "");
  }
  return exitCodeOf(error);
}

/**
 * Ends the work at SIGINT, SIGTERM, the parent's exit, or when the process is to be reused.
 * @param cleanup receives the function that removes the listeners
 */
function endOnSignals(logger: Logger, cleanup: CleanupStack, rest: AbortSignal): EndOfProcess {
  const end = new EndOfProcess(logger, rest);
  const stop = () => end.ask();
  const cut = () => end.cut();
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  rest.addEventListener("abort", cut);
  const forget = onParentGone(stop);
  cleanup.add(() => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    rest.removeEventListener("abort", cut);
    forget();
  });
  if (rest.aborted) {
    cut();
  }
  return end;
}
