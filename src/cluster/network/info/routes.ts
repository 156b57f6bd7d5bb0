import type { NetworkRoute } from "../api/call.js";
import { notFound } from "../api/fault.js";
import { enforce } from "../api/policy.js";
import { FLAT_NETWORK, NETWORK_ZONE } from "../flat/flat-network.js";
import { refuseChange } from "../flat/refuse-change.js";
import { EXTENSION_ROUTES } from "./extensions.js";
import { QUOTA_ROUTES } from "./quotas.js";

/** Kinds that clients ask for on their way, of which there are none; the words for those who would make one. */
const ABSENT = [
  ["routers", "there are no routers"],
  ["floatingips", "its addresses are reached from no other network, so that there are no floating IPs"],
  ["subnetpools", "there are no subnet pools"],
  ["address-scopes", "there are no address scopes"],
  ["address-groups", "there are no address groups"],
  ["rbac-policies", "there is nothing else to share"],
  ["trunks", "its ports carry no VLANs"],
] as const;

const ABSENT_ROUTES: readonly NetworkRoute[] = ABSENT.flatMap(([name, words]) => [
  { method: "GET", path: `/v2.0/${name}`, answer: () => ({ body: { [name.replaceAll("-", "_")]: [] } }) },
  {
    method: "GET",
    path: `/v2.0/${name}/:id`,
    answer: () => {
      throw notFound();
    },
  },
  { method: "POST", path: `/v2.0/${name}`, answer: () => refuseChange(words) },
]);

const ZONES = [{ name: NETWORK_ZONE, resource: "network", state: "available" }];

/** What says something of the service itself. */
export const INFO_ROUTES: readonly NetworkRoute[] = [
  ...EXTENSION_ROUTES,
  ...QUOTA_ROUTES,
  ...ABSENT_ROUTES,
  {
    method: "GET",
    path: "/v2.0/agents",
    answer: ({ caller }) => {
      enforce(caller, "get_agent");
      return { body: { agents: [] } };
    },
  },
  { method: "GET", path: "/v2.0/availability_zones", answer: () => ({ body: { availability_zones: ZONES } }) },
  {
    method: "GET",
    path: "/v2.0/auto-allocated-topology/:project",
    answer: (call) => {
      const project = call.param("project") === "null" ? (call.caller.projectId ?? "") : call.param("project");
      return { body: { auto_allocated_topology: { id: FLAT_NETWORK.id, tenant_id: project, project_id: project } } };
    },
  },
];
