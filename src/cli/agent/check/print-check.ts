import { NodeFiles } from "../../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { DriverGuard } from "../driver-guard.js";
import { createLogger } from "../../ui/create-logger.js";
import { ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { createTerminal } from "../../ui/terminal.js";
import { agentTls, tlsOptionsOf } from "../agent-tls.js";
import { loadConfig } from "../load-config.js";
import { type AgentCommandOptions, serviceVersionOf } from "../options.js";
import { type CheckReport, checkStart } from "./check-start.js";
import { renderReport } from "./render-report.js";

/** Milliseconds that one part may take. */
const LIMIT = 8_000;

/** Prints what a start would find. */
export async function printCheck(options: AgentCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const logger = createLogger({ level: options.debug === true ? "debug" : "error", format: options.logFormat });
  const files = new NodeFiles();
  const loaded = await loadConfig(options, files, new DriverGuard("compute-agent"));
  const runtime = createNodeRuntime({
    logger,
    ...(await agentTls(loaded.compiled.config, files, tlsOptionsOf(loaded))),
  });
  const abort = new AbortController();
  const stop = () => abort.abort(new Error("stopped before all was looked at"));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    const { connectToAmqp } = await import("../../../runtime/node/amqp-broker.js");
    const deps = { runtime, connectToBroker: connectToAmqp, serviceVersion: serviceVersionOf(options) };
    const report = await checkStart(loaded, deps, { limit: LIMIT, signal: abort.signal });
    terminal.print(
      options.json === true
        ? JSON.stringify(withFormerNames(report, { outcome: "verdict", hint: "mend" }), null, 2)
        : renderReport(report, terminal),
    );
    return exitCodeFor(report);
  } finally {
    await runtime.http.close();
  }
}

const OF_CONTROL_PLANE: ReadonlySet<string> = new Set(["broker", "conductor", "keystone", "placement"]);

function exitCodeFor({ outcome: result, parts }: CheckReport): number {
  if (result === "starts") {
    return ExitCode.ok;
  }
  const isMissing = parts.some(
    ({ name, state }) => OF_CONTROL_PLANE.has(name) && (state === "fails" || state === "waits"),
  );
  return isMissing ? ExitCode.unreachable : ExitCode.rejected;
}
