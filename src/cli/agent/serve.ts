import { type Agent, AgentStopped, createAgent } from "../../agent/life/agent.js";
import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import { refusalOf } from "../../agent/startup/refusals.js";
import { createFaultDoors } from "../../faults/fault-doors.js";
import type { ChangingFaults } from "../../faults/faults.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { Opened } from "../../runtime/opened.js";
import type { Runtime } from "../../runtime/runtime.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode } from "../ui/exit-code.js";
import { leaveParent, onParentGone, tellParent } from "../ui/parent.js";
import { exitCodeOf } from "../ui/report-failure.js";
import { createTerminal } from "../ui/terminal.js";
import { openFaults } from "./agent-faults.js";
import { connect } from "./connect.js";
import { traceDriver } from "./driver-trace.js";
import { type LoadedConfig, loadConfig } from "./load-config.js";
import { type MetricsOutlet, openMetrics } from "./metrics.js";
import { type AgentCommandOptions, serviceVersionOf } from "./options.js";
import { placementTls } from "./placement-tls.js";
import { reportClient } from "./report-client.js";

/** Runs the agent until it is told to stop, refuses, or loses its host. */
export async function serve(options: AgentCommandOptions): Promise<number> {
  const opened = new Opened();
  try {
    return await serveWith(options, opened);
  } finally {
    await opened.close();
    leaveParent();
  }
}

/** @param opened takes what is to be closed at the end, however it comes. */
async function serveWith(options: AgentCommandOptions, opened: Opened): Promise<number> {
  const terminal = createTerminal();
  const logger = createLogger({
    level: options.debug === true ? "debug" : "info",
    format: options.logFormat,
    colour: terminal.interactive && process.env.NO_COLOR === undefined,
  });
  const files = new NodeFiles();
  const loaded = await loadConfig(options, files);
  const { config } = loaded.compiled;
  const tls = await placementTls(config, files);
  const runtime = createNodeRuntime({ logger, tls, connections: config.placement.maxConnections });
  opened.add(() => runtime.http.close());
  for (const warning of loaded.compiled.warnings) {
    logger.warn(warning.message);
  }
  const outlet = await openMetrics(options.metricsPort, loaded.compiled.config.defaults.host, runtime);
  opened.add(() => outlet.close());
  if (outlet.url !== null) {
    terminal.print(`metrics on ${outlet.url}`);
  }
  const metrics = await metricsFor(options, outlet, loaded, runtime);
  const faultFile = await openFaults(loaded.compiled.config.defaults.statePath, runtime);
  opened.add(() => faultFile.close());
  const { faults } = faultFile;
  const doors = createFaultDoors(runtime, faults);
  const abort = new AbortController();
  let agent: Agent | undefined;
  let asked = 0;
  const stop = () => {
    asked += 1;
    // The second time the person means it; a half-done operation is what the next start mends.
    if (asked > 1) {
      process.exit(ExitCode.failure);
    }
    abort.abort();
    tellParent({ type: "component", state: "stopping", detail: "" });
    void agent?.stop();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  opened.add(() => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  });
  onParentGone(stop);
  try {
    const connection = await connect(loaded.compiled.config, loaded.directory, doors, abort.signal, {
      observer: metrics,
    });
    try {
      agent = await start(
        loaded,
        connection,
        { runtime: doors, faults, outlet, metrics },
        serviceVersionOf(options) ?? connection.serviceVersion,
      );
      process.on("SIGHUP", () => agent?.reset());
      if (abort.signal.aborted) {
        void agent.stop();
      }
      return await run(agent, runtime);
    } finally {
      await connection.close();
    }
  } catch (error) {
    return failed(error, abort.signal.aborted, (text) => terminal.complain(text));
  }
}

interface Surroundings {
  readonly runtime: Runtime;
  readonly faults: ChangingFaults;
  readonly outlet: MetricsOutlet;
  readonly metrics: AgentMetrics;
}

function metricsFor(
  { traceDriver: traced }: AgentCommandOptions,
  { metrics }: MetricsOutlet,
  { compiled }: LoadedConfig,
  runtime: Runtime,
): AgentMetrics | Promise<AgentMetrics> {
  return traced === true ? traceDriver(metrics, compiled.config.defaults.statePath, runtime) : metrics;
}

async function start(
  { compiled, driver, driverConfig, configFiles }: LoadedConfig,
  connection: Awaited<ReturnType<typeof connect>>,
  { runtime, faults, outlet, metrics }: Surroundings,
  serviceVersion: number | undefined,
): Promise<Agent> {
  const { config } = compiled;
  const session = connection.host(config.defaults.host, {
    lease: !config.workarounds.upstreamQuirks.has("no-host-lease"),
  });
  outlet.watch(connection, session);
  return createAgent({
    host: config.defaults.host,
    config,
    configFiles,
    runtime,
    session,
    driver,
    driverConfig,
    placement: reportClient(config, runtime, session, metrics),
    metrics,
    faults,
    ...(serviceVersion === undefined ? {} : { serviceVersion }),
  });
}

/** From start-up to the end of the agent's life. */
async function run(agent: Agent, runtime: Runtime): Promise<number> {
  const ended = new Promise<void>((resolve) => {
    agent.onState((state) => {
      if (state === "serving") {
        runtime.logger.info(`host ${agent.host} is serving`);
        tellParent({ type: "component", state: "ready", detail: `pid ${runtime.processes.pid}` });
      } else if (state !== "stopped" && state !== "failed" && state !== "draining") {
        runtime.logger.debug(`host ${agent.host} is ${state}`);
        tellParent({ type: "component", state: "starting", detail: state });
      }
      if (state === "stopped" || state === "failed") {
        resolve();
      }
    });
  });
  await agent.start();
  await ended;
  if (agent.failure !== null) {
    throw agent.failure;
  }
  return ExitCode.ok;
}

function failed(error: unknown, asked: boolean, complain: (text: string) => void): number {
  if (error instanceof AgentStopped || asked) {
    return ExitCode.ok;
  }
  const message = error instanceof Error ? error.message : String(error);
  tellParent({ type: "component", state: "failed", detail: message });
  const refusal = refusalOf(error);
  if (refusal !== null) {
    complain(`compute-agent: refused to start (${refusal.code}): ${message}`);
    complain(
      refusal.untouched
        ? "Nothing was touched. --dry-run shows the same without starting."
        : "What start-up had done before that stays; the next start goes on from there.",
    );
    return ExitCode.refused;
  }
  complain(`compute-agent: ${message}`);
  if (process.env.DEBUG !== undefined && error instanceof Error) {
    complain(error.stack ?? "");
  }
  return exitCodeOf(error);
}
