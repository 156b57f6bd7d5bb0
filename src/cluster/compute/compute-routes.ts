import type { ComputeRoute } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { serverRoutes } from "./servers/routes.js";

/** All of the API, by resource. */
export const computeRoutes = (deps: ComputeDeps): readonly ComputeRoute[] => [...serverRoutes(deps)];
