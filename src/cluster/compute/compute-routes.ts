import { aggregateRoutes } from "./aggregates/routes.js";
import { absentRoutes } from "./api/absent.js";
import type { ComputeRoute } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { flavorRoutes } from "./flavors/routes.js";
import { hypervisorRoutes } from "./hypervisors/routes.js";
import { migrationRoutes } from "./migrations/routes.js";
import { quotaRoutes } from "./quotas/routes.js";
import { serverRoutes } from "./servers/routes.js";
import { availabilityZoneRoutes } from "./services/availability-zones.js";
import { serviceRoutes } from "./services/routes.js";

/** All of the API, by resource. */
export const computeRoutes = (deps: ComputeDeps): readonly ComputeRoute[] => [
  ...serverRoutes(deps),
  ...flavorRoutes(deps),
  ...serviceRoutes(deps),
  ...availabilityZoneRoutes(deps),
  ...aggregateRoutes(deps),
  ...hypervisorRoutes(deps),
  ...migrationRoutes(deps),
  ...quotaRoutes(deps),
  ...absentRoutes(),
];
