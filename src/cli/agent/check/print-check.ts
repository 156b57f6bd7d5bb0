import { checkHost } from "../../../agent/check/check-host.js";
import { type CheckPart, failedPart, type PartState, part } from "../../../agent/check/check-part.js";
import { checkPlacement } from "../../../agent/check/check-placement.js";
import { NO_METRICS } from "../../../agent/metrics/metrics.js";
import type { NovaConnectOptions } from "../../../nova-rpc/connect-to-nova.js";
import {
  configuredPlacementAccess,
  createConductorAccess,
} from "../../../placement-client/access/configured-access.js";
import type { PlacementAccess } from "../../../placement-client/access/placement-access.js";
import { withoutUserInfo } from "../../../runtime/http.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { createLogger } from "../../ui/create-logger.js";
import { ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { wrapWords } from "../../ui/table.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import { agentTls, reportClient, tlsOptionsOf } from "../connect.js";
import { DriverGuard } from "../driver-guard.js";
import { type LoadedConfig, loadConfig } from "../load-config.js";
import { type AgentCommandOptions, serviceVersionOf } from "../options.js";
import { checkNova } from "./check-nova.js";
import { type CheckLimits, checkCluster, type MetControlPlane } from "./control-plane.js";

export interface CheckReport {
  readonly host: string;
  readonly controlPlane: "nova" | "compute-cluster";
  /** The outcome of a start now. `degraded`: the agent serves, but part of its work fails until an operator acts. */
  readonly outcome: "starts" | "degraded" | "waits" | "fails";
  readonly parts: readonly CheckPart[];
}

interface CheckDeps {
  readonly runtime: Runtime;
  readonly connectToBroker: NovaConnectOptions["connectToBroker"];
  /** The value of `--release`; undefined: the version that the control plane requires. */
  readonly serviceVersion: number | undefined;
}

/** Minimum width of a terminal, in columns. */
const WIDTH = 80;

/** Columns of a part's name, and of its state. */
const NAME = 12;

const STATE = 9;

const RESULT_MESSAGES: Readonly<Record<CheckReport["outcome"], string>> = {
  starts: "A start would find all it needs.",
  degraded: "Warning: the agent would start, but could not update Placement.",
  waits: "A start would wait.",
  fails: "A start would fail.",
};

/** Timeout of one part, in milliseconds. */
const LIMIT = 8_000;

/** Prints what a start of the agent would find. */
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
  const stop = () => abort.abort(new Error("stopped before all checks were done"));
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

/** Renders the report for terminals, at most 80 columns wide and one screen high. */
export function renderReport(
  { host, outcome: result, parts }: CheckReport,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const paint: Readonly<Record<PartState, (text: string) => string>> = {
    ok: colors.green,
    note: colors.yellow,
    degraded: colors.yellow,
    waits: colors.yellow,
    fails: colors.red,
    unknown: colors.dim,
  };
  const room = Math.max(20, Math.min(columns, WIDTH) - NAME - STATE);
  const rows = parts.flatMap(({ name, state, found, hint }) => {
    const lines = [...wrapped(found, room), ...(hint === "" ? [] : wrapped(`-> ${hint}`, room))];
    return lines.map((line, at) =>
      at === 0
        ? `${name.padEnd(NAME)}${paint[state](state.padEnd(STATE))}${line}`
        : `${" ".repeat(NAME + STATE)}${line}`,
    );
  });
  return [colors.bold(`${host}: what a start would find`), ...rows, RESULT_MESSAGES[result]].join("\n");
}

/** Wraps a text to lines of this width; a longer word is broken. */
function wrapped(text: string, width: number): string[] {
  const words = text.replace(/\s+/g, " ").split(" ");
  const short = words.flatMap((word) => word.match(new RegExp(`.{1,${width}}`, "gu")) ?? []);
  return wrapWords(short.join(" "), width).split("\n");
}

/** Checks what a start of this agent would find. Changes nothing, and ends within the timeouts even if nothing responds. */
export async function checkStart(
  loaded: LoadedConfig,
  { runtime, connectToBroker, serviceVersion }: CheckDeps,
  limits: CheckLimits,
): Promise<CheckReport> {
  const { config } = loaded.compiled;
  const { host, transportUrl } = config.defaults;
  const own = configuredPlacementAccess(config, runtime);
  const place = { host, config, runtime, ...limits };
  // Independent of the control plane, so it runs concurrently with the rest.
  const placement = own === null ? null : checkPlacement({ ...place, access: own });
  placement?.catch(() => {});
  const plane =
    transportUrl === null
      ? await checkCluster(config, loaded.directory, runtime, limits)
      : await checkNova(config, transportUrl, runtime, connectToBroker, limits);
  try {
    const { met } = plane;
    const [ofPlacement, ofHost] = await Promise.all([
      placement ??
        (met === null ? unknown("placement") : checkPlacement({ ...place, access: toPlacementAccess(met, runtime) })),
      met === null
        ? unknown("service", "hypervisor", "identity", "provider", "lease")
        : checkOwn(loaded, met, runtime, serviceVersion, limits),
    ]);
    const parts = [...plane.parts, ...ofPlacement, ...ofHost].map(withoutSecrets);
    return {
      host,
      controlPlane: transportUrl === null ? "compute-cluster" : "nova",
      outcome: evaluateParts(parts),
      parts,
    };
  } finally {
    await plane.close();
  }
}

function unknown(...names: readonly CheckPart["name"][]): readonly CheckPart[] {
  return names.map((name) => part(name, "unknown", "needs the conductor"));
}

function toPlacementAccess({ session }: MetControlPlane, { clock }: Runtime): PlacementAccess {
  return createConductorAccess({ clock, ask: () => session.call("placement_access", {}) });
}

async function checkOwn(
  { compiled, configFiles, driver, driverConfig, changeDriver }: LoadedConfig,
  met: MetControlPlane,
  runtime: Runtime,
  serviceVersion: number | undefined,
  limits: CheckLimits,
): Promise<readonly CheckPart[]> {
  const { config } = compiled;
  const { session, newHost } = met;
  const [ofHost, lease] = await Promise.all([
    checkHost({
      host: config.defaults.host,
      config,
      configFiles,
      runtime,
      session,
      driver,
      driverConfig,
      changeDriver,
      placement: reportClient(config, runtime, session, NO_METRICS),
      serviceVersion: serviceVersion ?? met.serviceVersion,
      newHost,
      ...limits,
    }),
    met.lease().catch((error: unknown) => {
      limits.signal.throwIfAborted();
      return failedPart("lease", error);
    }),
  ]);
  return [...ofHost, lease];
}

function evaluateParts(parts: readonly CheckPart[]): CheckReport["outcome"] {
  const states = new Set(parts.map(({ state }) => state));
  if (states.has("fails")) {
    return "fails";
  }
  if (states.has("waits") || states.has("unknown")) {
    return "waits";
  }
  return states.has("degraded") ? "degraded" : "starts";
}

function withoutSecrets(each: CheckPart): CheckPart {
  return { ...each, found: withoutUserInfo(each.found), hint: withoutUserInfo(each.hint) };
}
