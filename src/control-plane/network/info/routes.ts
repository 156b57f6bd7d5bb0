import { FLAT_SUBNET, POOL } from "../../store/flat-subnet.js";
import type { NetworkCall, NetworkResponse, NetworkRoute } from "../api/call.js";
import { NetworkFault, notFound } from "../api/fault.js";
import { type Attributes, listPage, view } from "../api/listing.js";
import { enforce, may } from "../api/policy.js";
import { FLAT_NETWORK, NETWORK_ZONE } from "../flat/flat-network.js";
import { rejectChange } from "../flat/reject-change.js";
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
  { method: "GET", path: `/v2.0/${name}`, handle: () => ({ body: { [name.replaceAll("-", "_")]: [] } }) },
  {
    method: "GET",
    path: `/v2.0/${name}/:id`,
    handle: () => {
      throw notFound();
    },
  },
  { method: "POST", path: `/v2.0/${name}`, handle: () => rejectChange(words) },
]);

const ZONES = [{ name: NETWORK_ZONE, resource: "network", state: "available" }];

const AVAILABILITIES = "/v2.0/network-ip-availabilities";

const TOTAL_IPS = POOL.last - POOL.first + 1;

/** Addresses of the network: all, and those that ports have. */
const AVAILABILITY: Attributes<typeof FLAT_NETWORK> = {
  network_id: ({ id }) => id,
  network_name: ({ name }) => name,
  tenant_id: () => "",
  project_id: () => "",
  subnet_ip_availability: ({ subnetId, subnetName }, { store }) => [
    {
      subnet_id: subnetId,
      ip_version: 4,
      cidr: FLAT_SUBNET.cidr,
      subnet_name: subnetName,
      used_ips: store.ports.countAll(),
      total_ips: TOTAL_IPS,
    },
  ],
  used_ips: (_network, { store }) => store.ports.countAll(),
  total_ips: () => TOTAL_IPS,
};

/** What says something of the service itself. */
export const INFO_ROUTES: readonly NetworkRoute[] = [
  ...EXTENSION_ROUTES,
  ...QUOTA_ROUTES,
  ...ABSENT_ROUTES,
  {
    method: "GET",
    path: "/v2.0/agents",
    handle: () => ({ body: { agents: [] } }),
  },
  { method: "GET", path: "/v2.0/availability_zones", handle: () => ({ body: { availability_zones: ZONES } }) },
  { method: "GET", path: "/v2.0/auto-allocated-topology/:project", handle: showTopology },
  {
    method: "DELETE",
    path: "/v2.0/auto-allocated-topology/:project",
    handle: (call) => {
      // The network of all projects stays.
      enforce(call.caller, "delete_auto_allocated_topology", topologyProject(call));
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: AVAILABILITIES,
    handle: async (call) => {
      const records = may(call.caller, "get_network_ip_availability") ? [FLAT_NETWORK] : [];
      return { body: await listPage(call, "network_ip_availabilities", AVAILABILITY, records) };
    },
  },
  {
    method: "GET",
    path: `${AVAILABILITIES}/:id`,
    handle: (call) => {
      if (call.param("id").toLowerCase() !== FLAT_NETWORK.id || !may(call.caller, "get_network_ip_availability")) {
        throw notFound();
      }
      return { body: { network_ip_availability: view(call, AVAILABILITY, FLAT_NETWORK) } };
    },
  },
];

/** The project of a path; clients that name none send None. @throws {NetworkFault} 403 */
function topologyProject(call: NetworkCall): string {
  const named = call.param("project");
  const project = named === "None" || named === "null" ? (call.caller.projectId ?? "") : named;
  if (!call.isAdmin && project !== call.caller.projectId) {
    throw new NetworkFault(403, "NotAuthorized", "Not authorized.");
  }
  return project;
}

/** @throws {NetworkFault} 400, 403, 404 */
function showTopology(call: NetworkCall): NetworkResponse {
  const project = topologyProject(call);
  enforce(call.caller, "get_auto_allocated_topology", project);
  const fields = call.query.all("fields");
  const isDryRun = fields.includes("dry-run");
  if (fields.length > 0 && !isDryRun) {
    throw new NetworkFault(400, "BadRequest", "Bad auto_allocate request: Unrecognized field.");
  }
  // Neutron's policy finds no owner in the answer to a dry run: only administrators see it.
  if (isDryRun && !call.isAdmin) {
    throw notFound();
  }
  const id = isDryRun ? "dry-run=pass" : FLAT_NETWORK.id;
  return { body: { auto_allocated_topology: { id, tenant_id: project, project_id: project } } };
}
