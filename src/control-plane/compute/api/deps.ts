import type { ReportClient } from "../../../placement-client/report-client.js";
import type { Service } from "../../../records/index.js";
import type { Digests, KeyMaker, Random } from "../../../runtime/cryptography.js";
import type { ServiceHandler } from "../../../runtime/http-server.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock, Timers } from "../../../runtime/time.js";
import type { ServerVolumes } from "../../block-storage/server-volumes.js";
import type { AgentBus } from "../../conductor/agent-messages.js";
import type { TaskRunner } from "../../conductor/task-runner.js";
import type { ValidateToken } from "../../credentials.js";
import type { ServerImages } from "../../image/server-images.js";
import type { ComputeNetwork } from "../../network/compute-network.js";
import type { Store } from "../../store/store.js";
import type { QuotaConfig } from "../quotas/resources.js";

/** The dependencies of the Compute API. */
export interface ComputeDeps {
  readonly store: Store;
  readonly bus: AgentBus;
  /** Placement client that mirrors host aggregates, allocates the resources of attached ports, and knows hosts' traits. */
  readonly placement: Pick<
    ReportClient,
    | "aggregateAddHost"
    | "aggregateRemoveHost"
    | "getAllocationCandidates"
    | "addResources"
    | "removeResources"
    | "getProviderTraits"
  >;
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
  /** Seconds for which a deleted server can be restored; 0 disables it. `[DEFAULT] reclaim_instance_interval`. */
  readonly reclaimInstanceInterval: number;
  readonly images: Pick<
    ServerImages,
    "find" | "addSnapshot" | "addVolumeBacked" | "addBackup" | "removeBackups" | "remove"
  >;
  /** `[quota]`: the default quotas of projects. */
  readonly quota: QuotaConfig;
  /** Handler of the Image API, for Nova's image proxy. */
  readonly imageService: ServiceHandler;
  readonly network: ComputeNetwork;
  readonly volumes: ServerVolumes;
  /** `[cinder] cross_az_attach`: whether servers may have volumes of other availability zones. */
  readonly crossAzAttach: boolean;
  /** Handler of the Block Storage API, for Nova's proxies. */
  readonly volumeService: ServiceHandler;
  readonly projectExists: (id: string) => boolean;
  /** Wakes the task runner. Called after the transaction that added a task is committed. */
  readonly wake: () => void;
  /** See {@link TaskRunner.ended}. */
  readonly taskEnded: (id: number) => Promise<unknown>;
  /**
   * Handles DELETE /os-services of a nova-compute: checks it, then removes its providers and rows (spec 7.1 steps 2-8).
   * @throws {HttpError} 409 if the service is left in place
   */
  readonly deleteService: (service: Service, options: DeleteServiceOptions) => Promise<void>;
}

export interface DeleteServiceOptions {
  readonly force: boolean;
  readonly requestId: string;
}
