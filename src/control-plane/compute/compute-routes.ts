import { AGGREGATE_ROUTES } from "./aggregates/routes.js";
import type { ComputeRoute } from "./api/call.js";
import { GONE_ROUTES } from "./api/gone.js";
import { EXTENSION_ROUTES } from "./extensions/routes.js";
import { EXTERNAL_EVENT_ROUTES } from "./external-events/routes.js";
import { FLAVOR_ROUTES } from "./flavors/routes.js";
import { HOST_ROUTES } from "./hosts/routes.js";
import { HYPERVISOR_ROUTES } from "./hypervisors/routes.js";
import { IMAGE_ROUTES } from "./images/routes.js";
import { KEYPAIR_ROUTES } from "./keypairs/routes.js";
import { MIGRATION_ROUTES } from "./migrations/routes.js";
import { NETWORK_ROUTES } from "./networks/routes.js";
import { QUOTA_ROUTES } from "./quotas/routes.js";
import { SECURITY_GROUP_ROUTES } from "./security-groups/routes.js";
import { SERVER_GROUP_ROUTES } from "./server-groups/routes.js";
import { SERVER_ROUTES } from "./servers/routes.js";
import { AVAILABILITY_ZONE_ROUTES } from "./services/availability-zones.js";
import { SERVICE_ROUTES } from "./services/routes.js";
import { TENANT_USAGE_ROUTES } from "./tenant-usage/routes.js";
import { USAGE_AUDIT_ROUTES } from "./usage-audit/routes.js";

/** All of the API, by resource. */
export const COMPUTE_ROUTES: readonly ComputeRoute[] = [
  ...SERVER_ROUTES,
  ...FLAVOR_ROUTES,
  ...SERVICE_ROUTES,
  ...AVAILABILITY_ZONE_ROUTES,
  ...AGGREGATE_ROUTES,
  ...HYPERVISOR_ROUTES,
  ...IMAGE_ROUTES,
  ...HOST_ROUTES,
  ...KEYPAIR_ROUTES,
  ...MIGRATION_ROUTES,
  ...EXTENSION_ROUTES,
  ...EXTERNAL_EVENT_ROUTES,
  ...NETWORK_ROUTES,
  ...SECURITY_GROUP_ROUTES,
  ...QUOTA_ROUTES,
  ...TENANT_USAGE_ROUTES,
  ...USAGE_AUDIT_ROUTES,
  ...SERVER_GROUP_ROUTES,
  ...GONE_ROUTES,
];
