import type { NetworkRoute } from "../api/call.js";
import { NetworkFault } from "../api/fault.js";

/** What this service has of Neutron's extensions, by alias. */
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

export const EXTENSION_ROUTES: readonly NetworkRoute[] = [
  {
    method: "GET",
    path: "/v2.0/extensions",
    handle: () => ({ body: { extensions: Object.keys(EXTENSIONS).map(extension) } }),
  },
  {
    method: "GET",
    path: "/v2.0/extensions/:alias",
    handle: (call) => {
      const alias = call.param("alias");
      if (!Object.hasOwn(EXTENSIONS, alias)) {
        throw new NetworkFault(404, "HTTPNotFound", `Extension with alias ${alias} does not exist`);
      }
      return { body: { extension: extension(alias) } };
    },
  },
];

function extension(alias: string) {
  const [name = "", description = ""] = EXTENSIONS[alias] ?? [];
  return { alias, name, description, updated: "2024-01-01T10:00:00-00:00", links: [] };
}
