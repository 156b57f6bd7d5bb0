import type { ReportClient } from "../../../placement-client/report-client.js";
import type { Service } from "../../../records/index.js";
import type { Digests, KeyMaker, Random } from "../../../runtime/cryptography.js";
import type { ServiceHandler } from "../../../runtime/http-server.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock, Timers } from "../../../runtime/time.js";
import type { AgentBus } from "../../conductor/agent-messages.js";
import type { TaskRunner } from "../../conductor/task-runner.js";
import type { ValidateToken } from "../../credentials.js";
import type { ServerImages } from "../../image/server-images.js";
import type { Store } from "../../store/store.js";
import type { QuotaConfig } from "../quotas/resources.js";

/** What the Compute API works with. */
export interface ComputeDeps {
  readonly store: Store;
  readonly bus: AgentBus;
  /** Where host aggregates are mirrored. */
  readonly placement: Pick<ReportClient, "aggregateAddHost" | "aggregateRemoveHost">;
  readonly validate: ValidateToken;
  readonly clock: Clock;
  /** `[DEFAULT] instance_usage_audit_period` */
  readonly auditPeriod: string;
  readonly timers: Timers;
  readonly random: Random;
  readonly digests: Digests;
  readonly keys: KeyMaker;
  readonly logger: Logger;
  /** Seconds; `[DEFAULT] service_down_time`. */
  readonly serviceDownTime: number;
  /** Seconds that a deleted server can be restored; 0: not at all. `[DEFAULT] reclaim_instance_interval`. */
  readonly reclaimInstanceInterval: number;
  readonly images: Pick<ServerImages, "find" | "addSnapshot" | "addBackup" | "removeBackups" | "remove">;
  /** `[quota]`: what projects may have that nobody has given others. */
  readonly quota: QuotaConfig;
  /** The Image API, for those who ask Nova for images. */
  readonly imageService: ServiceHandler;
  readonly projectExists: (id: string) => boolean;
  /** Tells the task runner, after the commit, that there is a task. */
  readonly wake: () => void;
  /** See {@link TaskRunner.ended}. */
  readonly taskEnded: (id: number) => Promise<unknown>;
  /**
   * DELETE /os-services of a nova-compute: what forbids it, its providers and its rows (spec 7.1 steps 2-8).
   * @throws {ServiceDeleteRejectedError} the service is still there
   */
  readonly deleteService: (service: Service, options: DeleteServiceOptions) => Promise<void>;
}

export interface DeleteServiceOptions {
  readonly force: boolean;
  readonly requestId: string;
}

/** The policy forbids to delete the service; answered with 409 and this message. */
export class ServiceDeleteRejectedError extends Error {
  override readonly name = "ServiceDeleteRefused";
}
