import { type CheckPart, failedPart, part } from "../../../agent/check/check-part.js";
import { connectToConductor } from "../../../conductor-client/connect-to-conductor.js";
import { isConductorError } from "../../../conductor-client/errors.js";
import type { ConductorConnection, HostSession } from "../../../conductor-client/port.js";
import type { NovaConfig } from "../../../config/nova-config.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { within } from "../../../runtime/time.js";
import { version } from "../../ui/command-line.js";
import { controlPlaneHint, findControlPlane } from "../connect.js";

/** The result of checking the control plane, and the connection that the rest of the check uses. */
export interface ControlPlane {
  /** The broker and the conductor, in this order. */
  readonly parts: readonly CheckPart[];
  /** Null if the control plane does not respond. */
  readonly met: MetControlPlane | null;
  close(): Promise<void>;
}

export interface MetControlPlane {
  readonly session: HostSession;
  /** The service version that agents must report to this control plane; undefined: the version of this build. */
  readonly serviceVersion: number | undefined;
  /** The steps that a new host needs besides a start; empty if there are none. */
  readonly newHost: string;
  /** Reports which process has the host's lease. */
  lease(): Promise<CheckPart>;
}

/** The timeout of each part in milliseconds, and the signal that cancels the check. */
export interface CheckLimits {
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Checks the control plane of compute-cluster. */
export async function checkCluster(
  config: NovaConfig,
  directory: StateDir,
  runtime: Runtime,
  { limit, signal }: CheckLimits,
): Promise<ControlPlane> {
  const { host } = config.defaults;
  const hint = controlPlaneHint(host, directory);
  const absent = (reason: string): ControlPlane => ({
    parts: [part("conductor", "waits", reason, hint)],
    met: null,
    close: async () => {},
  });
  const place = await findControlPlane(config, directory, runtime.files);
  if (typeof place === "string") {
    return absent(place);
  }
  const connection = connectToConductor({ ...place, runtime, version: version(), giveUpAfter: limit });
  const close = () => connection.close();
  try {
    await within(runtime.timers, limit, `the conductor at ${place.url}`, awaitConnection(connection), signal);
  } catch (error) {
    await close();
    signal.throwIfAborted();
    const isFinal = isConductorError(error, "JoinTokenRefused", "UnsupportedProtocol");
    return isFinal
      ? { ...absent(""), parts: [failedPart("conductor", error)] }
      : absent(`${place.url}: ${errorMessage(error)}`);
  }
  const session = connection.host(host, { lease: false });
  const met = { session, serviceVersion: undefined, newHost: "", lease: () => lease(session) };
  return { parts: [part("conductor", "ok", `compute-cluster's, at ${place.url}`)], met, close };
}

/** Resolves once connected; rejects with the reason if the first attempt fails. */
function awaitConnection(connection: ConductorConnection): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => {
    connection.onState((state, detail) => {
      if (state === "waiting") {
        reject(new Error(detail.replace(/; next try in .*$/, "")));
      }
    });
  });
  return Promise.race([connection.connected(), failed]);
}

async function lease(session: HostSession) {
  const holder = await session.call("host_lease_holder", { host: session.host });
  if (holder === null) {
    return part("lease", "ok", "free");
  }
  const { pid, machine, freeIn } = holder;
  const found = `held by another agent: pid ${pid} on machine ${machine}`;
  return freeIn === null
    ? part("lease", "fails", found, "stop it, or give this one a --host of its own")
    : part(
        "lease",
        "waits",
        `${found}, whose connection is lost`,
        `it ends by itself in ${Math.ceil(freeIn / 1000)} s`,
      );
}
