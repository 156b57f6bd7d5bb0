import type { ConductorConnection, MessageObserver } from "../../conductor-client/port.js";
import { NO_TLS } from "../../conductor-client/wire.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { conductorUrl, readClusterInfo, type StateDir } from "../../control-plane/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import { backOff } from "../../runtime/retry.js";
import type { Runtime } from "../../runtime/runtime.js";
import { notifyParent } from "../ui/parent.js";
import { version } from "../ui/version.js";

/**
 * Finds the control plane and connects to it, for as long as it takes. Reports the first failure with the ways out,
 * later ones in the debug log alone.
 * @param options `lookOnly`: nothing is left behind in a real Nova's broker; `observer`: counts the messages to and from one; `hosts`:
 *   all of them, as `--host` names them; `onAgain`: called when the control plane answers that was said to be away
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
  // What either is made of is loaded only when it is needed.
  if (transportUrl !== null) {
    const { connectNova } = await import("./connect-nova.js");
    return connectNova(config, transportUrl, runtime, signal, options);
  }
  let isReported = false;
  const reportWaiting = (reason: string): void => {
    if (isReported) {
      return;
    }
    isReported = true;
    const hint = reason.startsWith(NO_TLS) ? "" : `${controlPlaneHint(options.hosts ?? host, directory)}. `;
    runtime.logger.warn(`no control plane: ${reason}. ${hint}Trying again until it answers; Ctrl-C gives up`);
    notifyParent({ type: "component", state: "waiting", detail: `no control plane: ${reason}` });
  };
  const [{ url, joinToken }, { connectToConductor }] = await Promise.all([
    locate(config, directory, runtime, reportWaiting, signal),
    import("../../conductor-client/connect-to-conductor.js"),
  ]);
  const connection = connectToConductor({ url, joinToken, runtime, version: version() });
  connection.onState((state, detail) => {
    if (state === "waiting") {
      reportWaiting(detail);
    }
    if (state === "connected" && isReported) {
      isReported = false;
      runtime.logger.info(`connected to the control plane at ${url}`);
      options.onAgain?.();
    }
  });
  return connection;
}

/** What a person can do who has no control plane. */
export function controlPlaneHint(host: string, directory: StateDir): string {
  return (
    `Start one with "compute-cluster up --hosts 0 --state-dir ${directory.root}", or name another with ` +
    `"compute-agent --host ${host} --conductor URL"`
  );
}

/** Where the control plane is, and what lets in; or the reason why that is not known. */
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

/** Waits until there is one. */
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
