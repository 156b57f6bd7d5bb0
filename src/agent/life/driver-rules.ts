import type { HostSession } from "../../conductor/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { driverFaults } from "../../faults/driver-faults.js";
import type { ChangingFaults } from "../../faults/faults.js";
import type { DriverCallOptions } from "../../virt/driver-call.js";
import type { DriverHostOptions } from "../../virt/driver-host.js";
import { DRIVER_METHODS, type DriverMethod } from "../../virt/driver-methods.js";
import type { AgentMetrics } from "../metrics/metrics.js";
import { requireHostLease } from "./host-lease.js";

export interface DriverRulesOptions {
  readonly host: string;
  readonly config: NovaConfig;
  readonly session: HostSession;
  /** Asked before the driver changes a guest; throws to forbid it. Default: the host's lease must be held. */
  readonly permit?: (purpose: string) => void | Promise<void>;
  readonly metrics?: AgentMetrics;
  readonly faults?: ChangingFaults;
}

/** What an agent asks and notes at each call of its driver. */
export class DriverRules implements DriverHostOptions {
  readonly timeouts: NonNullable<DriverCallOptions["timeouts"]>;
  readonly createTimeout: number;
  readonly point?: NonNullable<DriverCallOptions["point"]>;
  readonly #options: DriverRulesOptions;

  constructor(options: DriverRulesOptions) {
    const { driverInitTimeout, driverCreateTimeout } = options.config.computeAgent;
    this.#options = options;
    this.timeouts = { initHost: driverInitTimeout * 1000 };
    this.createTimeout = driverCreateTimeout * 1000;
    if (options.faults) {
      this.point = driverFaults(options.faults);
    }
  }

  async permit(method: DriverMethod, instance: string | undefined): Promise<void> {
    const { host, session, permit } = this.#options;
    const purpose = instance ? `${method} the guest of instance ${instance}` : method;
    if (permit !== undefined) {
      await permit(purpose);
      return;
    }
    await session.leaseSettled();
    requireHostLease({ host, conductor: session }, purpose);
  }

  epoch(): number | null {
    return this.#options.session.leaseEpoch;
  }

  observe(...[method, ...call]: Parameters<NonNullable<DriverCallOptions["observe"]>>): void {
    this.#options.metrics?.driverCall(method, ...call);
    if (DRIVER_METHODS[method].changesGuests) {
      this.#options.session.guestsChanged?.();
    }
  }
}
