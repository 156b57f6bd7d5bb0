import { checkHost } from "../../../agent/check/check-host.js";
import { type CheckPart, failedPart, part } from "../../../agent/check/check-part.js";
import { checkPlacement } from "../../../agent/check/check-placement.js";
import { NO_METRICS } from "../../../agent/metrics/metrics.js";
import type { NovaConnectOptions } from "../../../nova-rpc/connect-to-nova.js";
import { configuredPlacementAccess, createConductorAccess } from "../../../placement-client/access/configured-access.js";
import type { PlacementAccess } from "../../../placement-client/access/placement-access.js";
import { withoutUserInfo } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";
import type { LoadedConfig } from "../load-config.js";
import { reportClient } from "../report-client.js";
import { checkCluster } from "./check-cluster.js";
import { checkNova } from "./check-nova.js";
import type { CheckLimits, MetControlPlane } from "./control-plane.js";

export interface CheckReport {
  readonly host: string;
  readonly controlPlane: "nova" | "compute-cluster";
  /** The outcome of a start now; `degraded`: the agent serves, and a part of its work fails until an operator acts. */
  readonly outcome: "starts" | "degraded" | "waits" | "fails";
  readonly parts: readonly CheckPart[];
}

export interface CheckDeps {
  readonly runtime: Runtime;
  readonly connectToBroker: NovaConnectOptions["connectToBroker"];
  /** What `--release` says; undefined: what the control plane asks for. */
  readonly serviceVersion: number | undefined;
}

/** What a start of this agent would find. Changes nothing, and ends in time whatever answers or does not. */
export async function checkStart(
  loaded: LoadedConfig,
  { runtime, connectToBroker, serviceVersion }: CheckDeps,
  limits: CheckLimits,
): Promise<CheckReport> {
  const { config } = loaded.compiled;
  const { host, transportUrl } = config.defaults;
  const own = configuredPlacementAccess(config, runtime);
  const place = { host, config, runtime, ...limits };
  // It needs nobody else: looked at while the rest is.
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
