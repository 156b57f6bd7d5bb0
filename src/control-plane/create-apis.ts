import type { ServiceHandler } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import type { ServerVolumes } from "./block-storage/server-volumes.js";
import type { ComputeDeps } from "./compute/api/deps.js";
import { createComputeApi } from "./compute/compute-api.js";
import { createIdentity, type Identity } from "./identity/identity.js";
import { createImageApi } from "./image/image-api.js";
import { ImageStore } from "./image/image-store.js";
import { ServerImages } from "./image/server-images.js";
import type { ComputeNetwork } from "./network/compute-network.js";

/** The dependencies of the Compute API that the control plane has, and the parts from which the others are created. */
export interface ApisOptions
  extends Pick<ComputeDeps, "store" | "bus" | "placement" | "wake" | "taskEnded" | "deleteService" | "quota">,
    Pick<ComputeDeps, "digests" | "keys" | "serviceDownTime">,
    Partial<Pick<ComputeDeps, "reclaimInstanceInterval" | "auditPeriod" | "crossAzAttach">> {
  /** The control plane creates Identity before the other APIs. Default: a new one over the store. */
  readonly identity?: Identity;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "files" | "logger">;
  readonly network: ComputeNetwork;
  readonly blockStorage: { readonly volumes: ServerVolumes; readonly handle: ServiceHandler };
  /** Absolute path of the image data. */
  readonly imageFolder: string;
}

export interface Apis {
  readonly identity: Identity;
  /** Handlers by mount point. */
  readonly services: Readonly<Record<"/identity" | "/compute" | "/image" | "/network" | "/volume", ServiceHandler>>;
}

/** Creates the embedded Identity, Compute, Image and Network APIs over one store. */
export function createApis(options: ApisOptions): Apis {
  const { identity: shared, runtime, network, blockStorage, imageFolder: folder, ...deps } = options;
  const { store, digests } = deps;
  const { clock, timers, random, files, logger } = runtime;
  const identity = shared ?? createIdentity({ sql: store.database, clock, random, digests, logger });
  const { validate } = identity;
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
    reclaimInstanceInterval: 0,
    auditPeriod: "month",
    crossAzAttach: true,
    ...deps,
    validate,
    clock,
    timers,
    random,
    logger,
    images: new ServerImages(images, random),
    imageService: image,
    network,
    volumes: blockStorage.volumes,
    volumeService: blockStorage.handle,
    projectExists: (id) => identity.hasProject(id),
  });
  return {
    identity,
    services: {
      "/identity": identity.handle,
      "/compute": compute,
      "/image": image,
      "/network": network.handle,
      "/volume": blockStorage.handle,
    },
  };
}
