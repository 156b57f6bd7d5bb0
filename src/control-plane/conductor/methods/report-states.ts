import { ConductorError } from "../../../conductor-client/errors.js";
import type { ParamsOf } from "../../../conductor-client/methods/method.js";
import type { RejectedReport, SessionMethods } from "../../../conductor-client/methods/session.js";
import { encodeError } from "../../../conductor-client/wire/error-codec.js";
import { serviceNotFound } from "../../store/services.js";
import type { Store } from "../../store/store.js";
import type { HostLeases } from "../host-leases.js";

type Report = ParamsOf<SessionMethods, "hosts_report_state">["reports"][number];

interface ReportDeps {
  readonly store: Pick<Store, "services">;
  readonly leases: Pick<HostLeases, "assertHolder">;
}

/**
 * Stores the heartbeats of hosts that may store them, in one write.
 * @param bootId the connection's, for hosts without a boot of their own
 */
export function reportStates(
  { store, leases }: ReportDeps,
  reports: readonly Report[],
  bootId: string,
): readonly RejectedReport[] {
  const rejected: RejectedReport[] = [];
  const passed: [at: number, service: number][] = [];
  for (const [at, { host, boot = bootId, unfenced = false, service }] of reports.entries()) {
    try {
      if (!unfenced) {
        leases.assertHolder(host, boot);
      }
      passed.push([at, service]);
    } catch (error) {
      if (!(error instanceof ConductorError)) {
        throw error;
      }
      rejected.push({ at, error: encodeError(error) });
    }
  }
  const missing = store.services.reportStates(passed.map(([, service]) => service));
  for (const [at, service] of passed) {
    if (missing.has(service)) {
      rejected.push({ at, error: encodeError(serviceNotFound(service)) });
    }
  }
  return rejected;
}
