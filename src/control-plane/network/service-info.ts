import { badRequest, HttpError, notFound } from "../http/http-error.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import { FLAT_SUBNET, POOL } from "../store/network-settings.js";
import { enforce, may, type NetworkCall, type NetworkRoute } from "./api/call.js";
import { type Attributes, listPage, view } from "./api/listing.js";
import { FLAT_NETWORK, NETWORK_ZONE, rejectChange } from "./flat-network.js";
import { QUOTA_ROUTES } from "./quotas.js";

/** The supported extensions of Neutron, by alias. */
const EXTENSIONS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  agent: ["agent", "The agent management extension."],
  "auto-allocated-topology": ["Auto Allocated Topology Services", "Auto Allocated Topology Services."],
  availability_zone: ["Availability Zone", "The availability zone extension."],
  binding: ["Port Binding", "Expose port bindings of a virtual port to external application"],
  "binding-extended": ["Port Bindings Extended", "Expose port bindings of a virtual port to external application"],
  "filter-validation": ["Filter parameters validation", "Provides validation on filter parameters."],
  "net-mtu": ["Network MTU", "Provides MTU attribute for a network resource."],
  "network-ip-availability": ["Network IP Availability", "Provides IP availability data for each network and subnet."],
  network_availability_zone: ["Network Availability Zone", "Availability zone support for network."],
  pagination: ["Pagination support", "Extension that indicates that pagination is enabled."],
  "port-security": ["Port Security", "Provides port security"],
  "project-id": ["project_id field enabled", "Extension that indicates that project_id field is enabled."],
  provider: ["Provider Network", "Expose mapping of virtual networks to physical networks"],
  "quota-check-limit": [
    "Quota engine limit check",
    "Support for checking the resource usage before applying a new quota limit",
  ],
  quotas: ["Quota management support", "Expose functions for quotas management per project"],
  quota_details: ["Quota details management support", "Expose functions for quotas usage statistics per project"],
  "security-group": ["security-group", "The security groups extension."],
  "security-groups-normalized-cidr": [
    "Normalized CIDR field for security group rule",
    "Add new field with normalized cidr in the security group rule",
  ],
  sorting: ["Sorting support", "Extension that indicates that sorting is enabled."],
  "standard-attr-description": ["standard-attr-description", "Extension to add descriptions to standard attributes"],
  "standard-attr-revisions": [
    "Resource revision numbers",
    "This extension will display the revision number of neutron resources.",
  ],
  "standard-attr-tag": [
    "Tag support for resources with standard attribute: port, subnet, network, security_group",
    "Enables to set tag on resources with standard attribute.",
  ],
  "standard-attr-timestamp": ["Resource timestamps", "Adds created_at and updated_at fields to all Neutron resources"],
  "stateful-security-group": ["Stateful security group", "Indicates if the security group is stateful or not"],
};

const EXTENSION_ROUTES = routes<NetworkRoute>({
  "GET /v2.0/extensions": () => ({ body: { extensions: Object.keys(EXTENSIONS).map(extension) } }),
  "GET /v2.0/extensions/:alias": (call) => {
    const alias = call.param("alias");
    if (!Object.hasOwn(EXTENSIONS, alias)) {
      throw notFound(`Extension with alias ${alias} does not exist`);
    }
    return { body: { extension: extension(alias) } };
  },
});

/** Resource types that clients list and that do not exist here, with the reason for rejecting a POST. */
const ABSENT = [
  ["routers", "there are no routers"],
  ["floatingips", "its addresses are reached from no other network, so that there are no floating IPs"],
  ["subnetpools", "there are no subnet pools"],
  ["address-scopes", "there are no address scopes"],
  ["address-groups", "there are no address groups"],
  ["rbac-policies", "there is nothing else to share"],
  ["trunks", "its ports carry no VLANs"],
] as const;

const ABSENT_ROUTES: readonly NetworkRoute[] = ABSENT.flatMap(([name, words]) =>
  routes<NetworkRoute>(
    {
      "GET /": () => ({ body: { [name.replaceAll("-", "_")]: [] } }),
      "GET /:id": () => {
        throw notFound();
      },
      "POST /": () => rejectChange(words),
    },
    { prefix: `/v2.0/${name}` },
  ),
);

const ZONES = [{ name: NETWORK_ZONE, resource: "network", state: "available" }];

const TOTAL_IPS = POOL.last - POOL.first + 1;

/** The number of addresses in the network and how many ports use. */
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

/** Routes about the service itself. */
export const INFO_ROUTES: readonly NetworkRoute[] = [
  ...EXTENSION_ROUTES,
  ...QUOTA_ROUTES,
  ...ABSENT_ROUTES,
  ...routes<NetworkRoute>({
    "GET /v2.0/agents": () => ({ body: { agents: [] } }),
    "GET /v2.0/availability_zones": () => ({ body: { availability_zones: ZONES } }),
    "GET /v2.0/auto-allocated-topology/:project": showTopology,
    "DELETE /v2.0/auto-allocated-topology/:project": (call) => {
      // The shared network is not deleted.
      enforce(call.caller, "delete_auto_allocated_topology", topologyProject(call));
      return { status: 204 };
    },
    "GET /v2.0/network-ip-availabilities": async (call) => {
      const records = may(call.caller, "get_network_ip_availability") ? [FLAT_NETWORK] : [];
      return { body: await listPage(call, "network_ip_availabilities", AVAILABILITY, records) };
    },
    "GET /v2.0/network-ip-availabilities/:id": (call) => {
      if (call.param("id").toLowerCase() !== FLAT_NETWORK.id || !may(call.caller, "get_network_ip_availability")) {
        throw notFound();
      }
      return { body: { network_ip_availability: view(call, AVAILABILITY, FLAT_NETWORK) } };
    },
  }),
];

/** Returns the project that the path names. Clients without a project send `None`. @throws {HttpError} 403 */
function topologyProject(call: NetworkCall): string {
  const named = call.param("project");
  const project = named === "None" || named === "null" ? (call.caller.projectId ?? "") : named;
  if (!call.isAdmin && project !== call.caller.projectId) {
    throw new HttpError(403, "Not authorized.", { code: "NotAuthorized" });
  }
  return project;
}

function showTopology(call: NetworkCall): RouteResponse {
  const project = topologyProject(call);
  enforce(call.caller, "get_auto_allocated_topology", project);
  const fields = call.query.all("fields");
  const isDryRun = fields.includes("dry-run");
  if (fields.length > 0 && !isDryRun) {
    throw badRequest("Bad auto_allocate request: Unrecognized field.", "BadRequest");
  }
  // Neutron's policy finds no owner in the result of a dry run, so only administrators see it.
  if (isDryRun && !call.isAdmin) {
    throw notFound();
  }
  const id = isDryRun ? "dry-run=pass" : FLAT_NETWORK.id;
  return { body: { auto_allocated_topology: { id, tenant_id: project, project_id: project } } };
}

function extension(alias: string) {
  const [name = "", description = ""] = EXTENSIONS[alias] ?? [];
  return { alias, name, description, updated: "2024-01-01T10:00:00-00:00", links: [] };
}
