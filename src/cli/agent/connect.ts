import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import type { Conductor, ConductorConnection, MessageObserver } from "../../conductor-client/port.js";
import { NO_TLS } from "../../conductor-client/wire.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { conductorUrl, readClusterInfo, type StateDir } from "../../control-plane/local/state-dir.js";
import { placementAccess } from "../../placement-client/access/configured-access.js";
import { SharedPlacementState } from "../../placement-client/client-context.js";
import { ReportClient } from "../../placement-client/report-client.js";
import { retryingHttp } from "../../placement-client/retries.js";
import type { Files } from "../../runtime/files.js";
import type { NodeRuntimeOptions } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import { backOff } from "../../runtime/retry.js";
import type { Runtime } from "../../runtime/runtime.js";
import { certificatesIn } from "../cluster/tls/tls-files.js";
import { version } from "../ui/command-line.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { createWaitingReport } from "./host-reports.js";
import type { LoadedConfig } from "./load-config.js";

/**
 * Finds the control plane and connects to it, without a time limit. The first failure is logged as a warning with the
 * possible remedies, later ones only as debug messages.
 * @param options `lookOnly`: leaves nothing in a real Nova's broker; `observer`: counts the messages to and from it;
 * `hosts`: all hosts as `--host` names them; `onAgain`: called when a control plane that was reported as unreachable
 * responds again
 */
export async function connect(
  config: NovaConfig,
  directory: StateDir,
  runtime: Runtime,
  signal: AbortSignal,
  options: {
    readonly lookOnly?: boolean;
    readonly observer?: MessageObserver;
    readonly hosts?: string;
    readonly onAgain?: () => void;
  } = {},
): Promise<ConductorConnection> {
  const { host, transportUrl } = config.defaults;
  // Each client is loaded only when it is needed.
  if (transportUrl !== null) {
    const { connectNova } = await import("./connect-nova.js");
    return connectNova(config, transportUrl, runtime, signal, options);
  }
  const report = createWaitingReport(runtime.logger, options.onAgain);
  const reportWaiting = (reason: string): void => {
    const hint = reason.startsWith(NO_TLS) ? "" : `${controlPlaneHint(options.hosts ?? host, directory)}. `;
    report.waiting(reason, hint);
  };
  const [{ url, joinToken }, { connectToConductor }] = await Promise.all([
    locate(config, directory, runtime, reportWaiting, signal),
    import("../../conductor-client/connect-to-conductor.js"),
  ]);
  const connection = connectToConductor({ url, joinToken, runtime, version: version() });
  connection.onState((state, detail) => {
    if (state === "waiting") {
      reportWaiting(detail);
    } else if (state === "connected") {
      report.connected(url);
    }
  });
  return connection;
}

/** Returns what the user can do when there is no control plane. */
export function controlPlaneHint(host: string, directory: StateDir): string {
  return (
    `Start one with "compute-agent up --hosts 0 --state-dir ${directory.root}", or name another with ` +
    `"compute-agent --host ${host} --conductor URL"`
  );
}

/** Returns the URL of the control plane and the join token, or the reason why they are unknown. */
export async function findControlPlane(
  config: NovaConfig,
  directory: StateDir,
  files: Files,
): Promise<{ readonly url: string; readonly joinToken: string } | string> {
  const info = config.conductor.url === null ? await readClusterInfo(files, directory) : undefined;
  const url = config.conductor.url ?? (info && conductorUrl(info));
  const { joinTokenFile } = config.conductor;
  const joinToken = config.conductor.joinToken ?? (await files.readIfPresent(joinTokenFile))?.trim();
  if (url === undefined) {
    return `${directory.clusterFile} does not name one`;
  }
  return joinToken === undefined || joinToken === ""
    ? `there is no join token in ${joinTokenFile} ([conductor] join_token_file)`
    : { url, joinToken };
}

/** Polls until a control plane is known. */
async function locate(
  config: NovaConfig,
  directory: StateDir,
  runtime: Runtime,
  reportWaiting: (reason: string) => void,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly joinToken: string }> {
  const { files, timers, random } = runtime;
  const wait = backOff({ first: 250, most: 5_000, jitter: { random, share: 0.5 } });
  for (let attempt = 1; ; attempt += 1) {
    const found = await findControlPlane(config, directory, files);
    if (typeof found !== "string") {
      return found;
    }
    reportWaiting(found);
    await timers.sleep(wait(attempt), signal);
  }
}

/** The TLS options of a section of nova.conf. */
interface TlsOptions {
  readonly cafile?: unknown;
  readonly certfile?: unknown;
  readonly keyfile?: unknown;
  readonly insecure?: unknown;
}

/**
 * Creates the agent's TLS settings. `[placement]` applies to all requests, except those of sections with their own options
 * (`[glance]`, the driver's). Requests to the control plane use `[conductor]`.
 * @param driver its section and the options there, by camelCase name
 * @throws {FileFailure} @throws {CommandError}
 */
export async function agentTls(
  config: NovaConfig,
  files: Files,
  driver?: { readonly section: string; readonly options: TlsOptions },
): Promise<Pick<NodeRuntimeOptions, "tls" | "trusted" | "tlsSections">> {
  const { url, cafile, ca: text } = config.conductor;
  const tls = await sectionTls(config.placement, files);
  const tlsSections = new Map<string, HttpTls>();
  for (const [section, options] of [
    ["glance", config.glance],
    ...(driver ? [[driver.section, driver.options]] : []),
  ] as [string, TlsOptions][]) {
    if (options.insecure === true || isText(options.cafile) || isText(options.certfile)) {
      tlsSections.set(section, await sectionTls(options, files));
    }
  }
  const sections = tlsSections.size === 0 ? {} : { tlsSections };
  const ca = cafile === null ? text : await files.read(cafile);
  if (url === null || ca === null) {
    return { tls, ...sections };
  }
  assertCertificate(ca, cafile === null ? "[conductor] ca" : `${cafile} ([conductor] cafile)`);
  const { origin } = new URL(url.replace(/^ws/, "http"));
  return { tls, ...sections, trusted: new Map([[origin, { verify: true, ca }]]) };
}

/** Returns the section of a host's driver, for {@link agentTls}. */
export function tlsOptionsOf({ driver, driverConfig }: Pick<LoadedConfig, "driver" | "driverConfig">) {
  return { section: driver.configSchema?.section ?? driver.name, options: driverConfig };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** @throws {CommandError} The text is not a certificate. */
function assertCertificate(ca: string, place: string): void {
  const wrong = new CommandError(
    ExitCode.usage,
    `${place} has no readable certificate; expected the one of the control plane's authority in PEM, as compute-agent join writes it`,
  );
  try {
    if (certificatesIn(ca).length > 0) {
      return;
    }
  } catch {
    throw wrong;
  }
  throw wrong;
}

async function sectionTls({ cafile, certfile, keyfile, insecure }: TlsOptions, files: Files): Promise<HttpTls> {
  const read = async (path: unknown) => (isText(path) ? await files.read(path) : undefined);
  const [ca, cert, key] = await Promise.all([cafile, certfile, keyfile].map(read));
  return {
    verify: insecure !== true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    // As keystoneauth does, read the key from the certificate's file if there is no key file.
    ...(key === undefined && cert === undefined ? {} : { key: key ?? cert ?? "" }),
  };
}

/**
 * Creates the agent's Placement client from nova.conf.
 * @param known the state that this process shares about that Placement; default: none
 */
export function reportClient(
  config: NovaConfig,
  runtime: Runtime,
  conductor: Conductor,
  metrics: AgentMetrics,
  known = new SharedPlacementState(),
): ReportClient {
  const http = retryingHttp(runtime.http, runtime.timers, config.placement);
  return new ReportClient({
    http,
    access: placementAccess(config, { ...runtime, http }, conductor, known.placement),
    known: known.names,
    config: {
      associationRefresh: config.compute.resourceProviderAssociationRefresh,
      timeout: config.placement.timeout * 1000,
      sharingProvidersMaxUuidsPerRequest: config.compute.sharingProvidersMaxUuidsPerRequest,
    },
    clock: runtime.clock,
    timers: runtime.timers,
    random: runtime.random,
    logger: runtime.logger,
    observe: (event) => metrics.placementRequest(event),
  });
}
