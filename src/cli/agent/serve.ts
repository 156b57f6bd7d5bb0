import { AgentStopped } from "../../agent/lifecycle/agent.js";
import { toStartupRejection } from "../../agent/rejections.js";
import { type ControlledHost, MAX_DETAIL_LENGTH } from "../../conductor-client/methods/session.js";
import type { ConductorConnection } from "../../conductor-client/port.js";
import { excludeFromGit } from "../../control-plane/local/state-dir.js";
import type { FaultFile } from "../../faults/fault-file.js";
import { createFaultyRuntime } from "../../faults/fault-injection.js";
import { CleanupStack } from "../../runtime/lifetime.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import type { Timers } from "../../runtime/time.js";
import { parsedOptions } from "../ui/command-line.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode, exitCodeOf, toDo } from "../ui/exit-code.js";
import { leaveParent, notifyParent, onAddHosts, onParentGone, runWorkLoop } from "../ui/process-lifecycle.js";
import { createTerminal } from "../ui/terminal.js";
import { openFaults } from "./agent-faults.js";
import { agentTls, connect, tlsOptionsOf } from "./connect.js";
import { DriverGuard } from "./driver-guard.js";
import { HostLife, type MetricsOutlet, openMetrics, UnhandledDriverErrors } from "./host-lifecycle.js";
import { HostReport, HostsReport, StartLogger } from "./host-reports.js";
import { Hosts } from "./hosts.js";
import { type LoadedHosts, loadHosts, logWarnings } from "./load-config.js";
import { type AgentCommandOptions, agentCommand, serviceVersionOf } from "./options.js";

/** When and why what an agent process does is to end. */
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

  /** Aborted once it is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The process goes on, with other work: what it does now ends as by `kill -9`. */
  get rests(): boolean {
    return this.#rest.aborted;
  }

  /** What makes it end that is no host's fault; undefined: somebody asked for it. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Calls `action` when it is to end; at once, if it is. */
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

  /** Its work is to end at once. */
  cut(): void {
    this.#abort.abort();
    this.#stop();
  }

  /** SIGINT's and SIGTERM's. */
  ask(): void {
    this.#stopRequests += 1;
    // The second time the person means it; a half-done operation is what the next start mends.
    if (this.#stopRequests > 1) {
      this.#logger.warn("stopped a second time: the agent ends at once, whatever is under way");
      process.exit(ExitCode.failure);
    }
    this.#abort.abort();
    notifyParent({ type: "component", state: "stopping", detail: "" });
    this.#stop();
  }
}

/** Runs the agent until it is told to stop, refuses, or loses its host. */
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

/** @param cleanup takes what is to be closed at the end, however it comes. */
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
  // A host that has a connection of its own can be cut off from the control plane.
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
    let again: () => void = () => {};
    const onAgain = (listener: () => void) => {
      again = listener;
    };
    const connection = await connect(config, first.directory, faultRuntime, end.signal, {
      observer: outlet.forHost(single ? config.defaults.host : ""),
      hosts: options.host ?? config.defaults.host,
      onAgain: () => again(),
    });
    cleanup.add(() => connection.close());
    outlet.watchConnection(connection);
    return await serveHosts(loaded, {
      runtime,
      connection,
      outlet,
      unhandledErrors,
      faultFile,
      options,
      end,
      onAgain,
      cleanup,
    });
  } catch (error) {
    if (end.rests) {
      // Something may still be under way: the process is not kept.
      throw error;
    }
    const stopRequested = end.broken === undefined && end.signal.aborted;
    return failed(end.broken ?? error, stopRequested, (text) => terminal.complain(text));
  }
}

/** As {@link Hosts} has it; a conductor of a real Nova has 55 connections to its database, and fails what has waited 30 s for one. */
const STARTING_UNDER_NOVA = 16;

/** Milliseconds after which those that serve are reported, though others still start. */
const START_TIMEOUT_MS = 60_000;

function afterwards(timers: Timers, milliseconds: number, unless: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = timers.after(milliseconds, resolve);
    void unless.finally(cancel);
  });
}

interface Surroundings {
  readonly runtime: Runtime;
  readonly connection: ConductorConnection;
  readonly outlet: MetricsOutlet;
  readonly unhandledErrors: UnhandledDriverErrors;
  readonly faultFile: FaultFile | null;
  readonly options: AgentCommandOptions;
  readonly end: EndOfProcess;
  /** Has the listener hear that the control plane answers again. */
  readonly onAgain: (listener: () => void) => void;
  readonly cleanup: CleanupStack;
}

/** Serves the hosts until none lives any more. @throws why the first of them failed, unless it was asked to stop */
async function serveHosts(loaded: LoadedHosts, around: Surroundings): Promise<number> {
  const { runtime, connection, outlet, unhandledErrors, faultFile, options, end, onAgain, cleanup } = around;
  const shared = {
    connection,
    outlet,
    unhandledErrors,
    traceDriver: options.traceDriver === true,
    serviceVersion: serviceVersionOf(options) ?? connection.serviceVersion,
    known: new WeakMap(),
  };
  const single = faultFile !== null;
  const report = single ? new HostReport(runtime) : new HostsReport(runtime);
  onAgain(() => report.connectedAgain());
  let notify: (host: ControlledHost) => void = () => {};
  const hosts = new Hosts({
    timers: runtime.timers,
    live: (host, onServing) => {
      let starting = !single;
      const warned = (message: string) => report.warned(host, message);
      const served = () => {
        starting = false;
        onServing();
      };
      const logger = single ? runtime.logger : new StartLogger(runtime.logger, () => (starting ? warned : null));
      return new HostLife(
        loaded.of(host),
        { runtime: { ...runtime, logger }, ...shared },
        { onServing: served, onProgress: (state) => report.progress(host, state), faultFile },
      );
    },
    onState: (status) => {
      if (end.rests) {
        return;
      }
      const { host, state, detail } = status;
      report.changed(status);
      notify({ host, state, detail: detail.slice(0, MAX_DETAIL_LENGTH) });
    },
    ...(loaded.first.compiled.config.defaults.transportUrl === null ? {} : { starting: STARTING_UNDER_NOVA }),
    ...(single ? { killProcess: () => process.kill(process.pid, "SIGKILL") } : {}),
  });
  notify = connection.offerControl?.(hosts) ?? notify;
  let cut: Promise<void> | undefined;
  end.onStop(() => {
    if (end.rests) {
      cut = hosts.cut();
    } else {
      void hosts.stop();
    }
  });
  const reset = () => {
    for (const life of hosts.liveHosts) {
      life.reset();
    }
  };
  process.on("SIGHUP", reset);
  cleanup.add(() => void process.off("SIGHUP", reset));
  const forget = onAddHosts((added) => void (single ? report.rejectHosts(added) : hosts.add(added)));
  cleanup.add(() => forget?.());
  report.begin();
  const added = hosts.add(loaded.names);
  // A host that starts slowly does not hold back the report of the others.
  await Promise.race([added, afterwards(runtime.timers, START_TIMEOUT_MS, added)]);
  report.started();
  await added;
  await hosts.idle;
  await cut;
  report.close();
  const failure = hosts.standings.find(({ state }) => state === "failed");
  if (end.broken !== undefined || (failure !== undefined && !end.signal.aborted)) {
    throw end.broken ?? failure?.error;
  }
  return ExitCode.ok;
}

function failed(error: unknown, stopRequested: boolean, complain: (text: string) => void): number {
  if (error instanceof AgentStopped || stopRequested) {
    return ExitCode.ok;
  }
  const message = error instanceof Error ? error.message : String(error);
  notifyParent({ type: "component", state: "failed", detail: message });
  const rejection = toStartupRejection(error);
  if (rejection !== null) {
    complain(`compute-agent: refused to start (${rejection.code}): ${message}`);
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
 * Ends with SIGINT, SIGTERM and the parent, and once the process is to rest.
 * @param cleanup takes what takes that back
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
