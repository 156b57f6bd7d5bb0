import type { NetworkRoute } from "./api/call.js";
import { routesOf } from "./api/resource-routes.js";
import { NETWORK_ROUTES } from "./flat/networks.js";
import { INFO_ROUTES } from "./info/routes.js";
import { BINDING_ROUTES } from "./ports/bindings.js";
import { PORT_TAGS, PORTS } from "./ports/port-resource.js";
import { SECURITY_GROUP_TAGS, SECURITY_GROUPS } from "./security-groups/group-resource.js";
import { SECURITY_GROUP_RULES } from "./security-groups/rule-resource.js";

/** All of the API, by resource. */
export const NETWORK_API_ROUTES: readonly NetworkRoute[] = [
  ...NETWORK_ROUTES,
  ...routesOf(PORTS),
  ...BINDING_ROUTES,
  ...PORT_TAGS,
  ...routesOf(SECURITY_GROUPS),
  ...SECURITY_GROUP_TAGS,
  ...routesOf(SECURITY_GROUP_RULES),
  ...INFO_ROUTES,
];
