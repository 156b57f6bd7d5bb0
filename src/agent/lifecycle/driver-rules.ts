import type { HostSession } from "../../conductor-client/port.js";
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
  readonly #host: string;
  readonly #session: HostSession;
  readonly #permit: DriverRulesOptions["permit"];
  readonly #metrics: AgentMetrics | undefined;

  constructor({ host, config, session, permit, metrics, faults }: DriverRulesOptions) {
    const { driverInitTimeout, driverCreateTimeout } = config.computeAgent;
    this.#host = host;
    this.#session = session;
    this.#permit = permit;
    this.#metrics = metrics;
    this.timeouts = { initHost: driverInitTimeout * 1000 };
    this.createTimeout = driverCreateTimeout * 1000;
    if (faults) {
      this.point = driverFaults(faults);
    }
  }

  async permit(method: DriverMethod, instance: string | undefined): Promise<void> {
    const purpose = instance ? `${method} the guest of instance ${instance}` : method;
    if (this.#permit !== undefined) {
      await this.#permit(purpose);
      return;
    }
    await this.#session.leaseSettled();
    requireHostLease({ host: this.#host, conductor: this.#session }, purpose);
  }

  epoch(): number | null {
    return this.#session.leaseEpoch;
  }

  observe(...[method, ...call]: Parameters<NonNullable<DriverCallOptions["observe"]>>): void {
    this.#metrics?.driverCall(method, ...call);
    if (DRIVER_METHODS[method].changesGuests) {
      this.#session.guestsChanged?.();
    }
  }
}
