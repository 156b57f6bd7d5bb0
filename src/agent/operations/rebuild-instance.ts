import type { RebuildOptions } from "../contracts.js";
import { evacuateInstance } from "./evacuate-instance.js";
import type { OperationParts } from "./parts.js";
import { rebuildInPlace } from "./rebuild-in-place.js";

/** An evacuation's second half on its destination (spec 6.7), or a rebuild on the instance's own host (6.6). */
export const rebuildInstance = (parts: OperationParts, request: RebuildOptions): Promise<void> =>
  request.recreate ? evacuateInstance(parts, request) : rebuildInPlace(parts, request);
