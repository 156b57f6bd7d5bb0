import type { Digests, KeyMaker } from "../runtime/cryptography.js";
import type { ServiceHandler } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import type { ComputeDeps } from "./compute/api/deps.js";
import { createComputeApi } from "./compute/compute-api.js";
import type { AgentBus } from "./conductor/agent-messages.js";
import { createIdentity, type Identity } from "./identity/identity.js";
import { createImageApi } from "./image/image-api.js";
import { ImageStore } from "./image/image-store.js";
import { ServerImages } from "./image/server-images.js";
import { createNetworkApi } from "./network/network-api.js";
import type { Store } from "./store/store.js";

export interface ApisOptions {
  /** The control plane creates Identity before the other APIs. Default: a new one over the store. */
  readonly identity?: Identity;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "files" | "logger">;
  readonly digests: Digests;
  readonly keys: KeyMaker;
  /** Absolute path of the image data. */
  readonly imageFolder: string;
  readonly store: Store;
  readonly bus: AgentBus;
  /** See {@link ComputeDeps.placement}. */
  readonly placement: ComputeDeps["placement"];
  /** See {@link ComputeDeps.wake}. */
  readonly wake: () => void;
  /** See {@link ComputeDeps.taskEnded}. */
  readonly taskEnded: ComputeDeps["taskEnded"];
  /** See {@link ComputeDeps.deleteService}. */
  readonly deleteService: ComputeDeps["deleteService"];
  /** See {@link ComputeDeps.quota}. */
  readonly quota: ComputeDeps["quota"];
  /** Seconds; `[DEFAULT] service_down_time`. */
  readonly serviceDownTime: number;
  /** Seconds; `[DEFAULT] reclaim_instance_interval`. */
  readonly reclaimInstanceInterval?: number;
  /** Default: a month. See {@link ComputeDeps.auditPeriod}. */
  readonly auditPeriod?: string;
}

export interface Apis {
  readonly identity: Identity;
  /** Handlers by mount point. */
  readonly services: Readonly<Record<"/identity" | "/compute" | "/image" | "/network", ServiceHandler>>;
}

/** Creates the embedded Identity, Compute, Image and Network APIs over one store. */
export function createApis(options: ApisOptions): Apis {
  const { store, digests, runtime } = options;
  const { clock, timers, random, files, logger } = runtime;
  const identity = options.identity ?? createIdentity({ sql: store.database, clock, random, digests, logger });
  const { validate } = identity;
  const folder = options.imageFolder;
  const images = new ImageStore({ sql: store.database, clock, files, logger, digests, folder });
  images.sweep().catch((error: unknown) => {
    logger.warn("leftovers of an earlier upload could not be removed; retrying at the next upload", { err: error });
  });
  const image = createImageApi({
    validate,
    random,
    store: images,
    limits: (resource, projectId) => identity.limit("image", resource, projectId),
  });
  const compute = createComputeApi({
    store,
    bus: options.bus,
    placement: options.placement,
    validate,
    clock,
    timers,
    random,
    digests,
    keys: options.keys,
    logger,
    serviceDownTime: options.serviceDownTime,
    reclaimInstanceInterval: options.reclaimInstanceInterval ?? 0,
    auditPeriod: options.auditPeriod ?? "month",
    images: new ServerImages(images, random),
    quota: options.quota,
    imageService: image,
    projectExists: (id) => identity.hasProject(id),
    wake: options.wake,
    taskEnded: options.taskEnded,
    deleteService: options.deleteService,
  });
  const network = createNetworkApi({ validate, store, random, clock, timers, logger });
  return {
    identity,
    services: { "/identity": identity.handle, "/compute": compute, "/image": image, "/network": network },
  };
}
