/** A kind of difference that is meant, with its reason. */
interface MeantDifference {
  /** Matches the text of a kind. */
  readonly pattern: RegExp;
  readonly reason: string;
}

/** All intended differences between the embedded Network service and Debian's Neutron 21. */
export const MEANT_DIFFERENCES: readonly MeantDifference[] = [
  {
    pattern: /: 500 \w+ .* is (?:[1-4]\d\d)/s,
    reason: "internal errors of Neutron are not copied",
  },
  {
    pattern: /^(?:POST|PUT|DELETE) .* is 405 HTTPMethodNotAllowed/,
    reason: "Neutron validates the body of an operation that the resource lacks before it fails",
  },
  {
    pattern:
      /^(?:PUT|DELETE) \S+\/tags\S*: .* is 403 PolicyNotAuthorized "rule:(?:update|delete)_\w+:tags is disallowed/,
    reason: "policies of tags are newer than Neutron 21",
  },
  {
    pattern: /floatingips?(?:\[\])?\.status: "DOWN" is "ACTIVE"/,
    reason: "a floating IP of a port is ACTIVE at once: no agent reports it",
  },
  {
    pattern: /(?<!\w)ports?(?:\[\])?\.status: "DOWN" is "ACTIVE"/,
    reason: "a port of a router is ACTIVE at once: no agent reports it",
  },
  {
    pattern: /^GET \/v2\.0\/auto-allocated-topology\/\{id\}\?fields=dry-run: /,
    reason: "members may run a topology dry, as newer releases let them",
  },
  {
    pattern:
      /^PUT \/v2\.0\/subnetpools\/\{id\}: subnetpool\.(?:\w+_prefixlen: .* is "|(?:address_scope_id|default_quota): absent is null)/,
    reason: "Neutron's response to an update has prefix lengths as numbers, and lacks what is null",
  },
  {
    pattern: /^(?:POST|PUT) \/v2\.0\/rbac-policies.*: 4\d\d .*Callback neutron\./s,
    reason: "Neutron names its Python functions; the service has the reason alone",
  },
  {
    pattern: /^PUT \/v2\.0\/rbac-policies\/\{id\}: 409 RbacPolicyInUse .* is 409 RbacPolicyInUse/s,
    reason: "Neutron names its Python functions; the service has the reason alone",
  },
  {
    pattern:
      /RbacPolicyNotFound "RBAC policy of type \w+ with ID <id> not found" is 404 RbacPolicyNotFound "RBAC policy of type unknown/,
    reason: "the type of a policy that the caller cannot see stays hidden",
  },
  {
    pattern: /: 409 NeutronDbObjectDuplicateEntry "Failed to create a duplicate Trunk.* is 409 ParentPortInUse/,
    reason: "Neutron finds the second trunk of a port in its database only",
  },
  {
    pattern: /^POST \/v2\.0\/routers: 409 Conflict "HTTP <n> AvailabilityZoneNotFound/,
    reason: "Neutron reports the rollback of a router as an error of its own",
  },
  {
    pattern: /^GET \/v2\.0\/availability_zones: .* is absent/,
    reason: "Neutron ignores fields of availability zones",
  },
  {
    pattern: /^GET \/v2\.0\/address-groups\S*: address_groups?\S*\.tenant_id: .* is absent/,
    reason: "Neutron adds tenant_id to the requested fields of address groups",
  },
  {
    pattern: /^GET \/v2\.0\/(?:networks|subnets|ports)\b.*: (?:networks|subnets|ports)\[\]: \{HA\} is absent/,
    reason: "no network is made for the agents of routers with ha",
  },
  {
    pattern: /^DELETE \/v2\.0\/ports\/\{id\}: 204 is 409 PortInUseAsTrunkParent/,
    reason: "Neutron does not find the trunk of a port if another project has it",
  },
  {
    pattern: /^POST \S+: \w+\.tags\[\]: absent is /,
    reason: "records are created with their tags, as newer releases do",
  },
  {
    pattern: /availability_zones\[\]: (?:absent is "nova"|"nova" is absent)/,
    reason: "routers and networks are scheduled to agents at other moments",
  },
  {
    pattern: /^GET \/v2\.0\/routers\/\{id\}\/conntrack_helpers\S*: .* is 404 RouterNotFound/,
    reason: "conntrack helpers of a router that the caller cannot see stay hidden",
  },
  {
    pattern: /port\.mac_address: "[0-9A-F<n>-]+" is "<mac>"/,
    reason: "MAC addresses of updates are normalized, as newer releases do",
  },
  {
    pattern:
      /^GET \/v2\.0\/qos\/policies\/\{id\}\/\w+: 400 BadRequest "Bad limit request.* is 400 HTTPBadRequest .* for sort_keys/,
    reason: "Neutron serves paths with underscores in another way, which checks limits first",
  },
  {
    pattern: /enable_default_route_ecmp\) is disallowed by policy"$/,
    reason: "attributes of newer releases are part of a router's actions",
  },
  {
    pattern: /412 RevisionNumberConstraintFailed .* is 412 RevisionNumberConstraintFailed/,
    reason: "revisions grow by other steps",
  },
  {
    pattern: /^DELETE \/v2\.0\/security-group-rules\/\{id\}: 404 SecurityGroupRuleNotFound .* is 204/,
    reason: "the owner of a group can delete the rules that an administrator made in it",
  },
  {
    pattern: /network_segment_ranges\[\]\.(?:used|available|physical_network)/,
    reason: "both choose any free segment of a range; the physical network is null where Neutron leaves it out",
  },
  {
    pattern: /^GET .*\.tags\[\]: /,
    reason: "policies of tags are newer than Neutron 21, so that the two have other tags",
  },
  {
    pattern: /new_mac [0-9A-F<n>-]+\." is 409 PortBound|on port <built-in function id>/,
    reason: "Neutron's text has the value before its normalization, or names a function of Python",
  },
  {
    pattern: /^(?:GET|DELETE) \/v2\.0\/ports\/\{id\}\/bindings\/\{id\}: 400 BadRequest .* is 404 PortBindingNotFound/,
    reason: "a missing binding is reported before the owner of the port is checked",
  },
  {
    pattern: /^POST \/v2\.0\/routers\/\{id\}\/conntrack_helpers: 400 .* is 404 RouterNotFound/,
    reason: "conntrack helpers of a router that the caller cannot see stay hidden",
  },
  {
    pattern: /400 HTTPBadRequest "Unable to find '\w+' in request body" is 400 HTTPBadRequest "Resource body required"/,
    reason: "Neutron serves paths with underscores in another way, which allows an empty body",
  },
  {
    pattern: /vif_details\.bound_drivers: .* is absent/,
    reason: "the service has one mechanism driver, and does not show its name",
  },
  {
    pattern: /trunk_details\.sub_ports\[\]\.mac_address: absent is /,
    reason: "lists show MAC addresses of subports as single ports do",
  },
  {
    pattern: /"Invalid input for project_id\. .* is 400 HTTPBadRequest "Invalid input for tenant_id\. /,
    reason: "the owner of sub-resources has its newer name in Neutron's texts",
  },
  {
    pattern: /^GET \/v2\.0\/(?:flavors\/\{id\}\/service_profiles|network-segment-ranges)\/\{id\}: 404 .* is 404 /,
    reason: "a record that the caller cannot see does not exist; the texts differ",
  },
  {
    pattern: /: 409 (\w+InUse) "(.*)" is 409 \1 "\2"$/,
    reason: "of several records that use another one either may be named",
  },
  {
    pattern: /^DELETE \/v2\.0\/routers\/\{id\}\/conntrack_helpers: 404 .* is 404 ConntrackHelperNotFound/,
    reason: "Neutron names the router as the missing helper",
  },
  {
    pattern: /^PUT \/v2\.0\/qos\/policies\/\{id\}\/\w+\/\{id\}: 400 HTTPBadRequest "Body contains invalid data"/,
    reason: "Neutron serves paths with underscores in another way, which rejects such a body",
  },
  {
    pattern: /^GET \/v2\.0\/network-segment-ranges: network_segment_ranges\[\]\.\w+: .* is absent/,
    reason: "Neutron adds attributes of its extensions to the requested fields of segment ranges",
  },
  {
    pattern: /^GET \/v2\.0\/floatingips: floatingips\[\]: /,
    reason: "floating IPs of ports are ACTIVE at once, so that filters by status match others",
  },
  {
    pattern:
      /: 409 NeutronDbObjectDuplicateEntry "Failed to create a duplicate FloatingIP.* is 409 FloatingIPPortAlreadyAssociated/,
    reason: "Neutron finds the second floating IP of a port in its database only",
  },
  {
    pattern: /^GET \/v2\.0\/(?:segments|network-segment-ranges)\S*: \w+(?:\[\])?\.\w+: (?:.* is absent|absent is null)/,
    reason: "Neutron adds other attributes to the requested fields of segments and their ranges",
  },
  {
    pattern: /^PUT \/v2\.0\/trunks\/\{id\}: 200 is 412/,
    reason: "Neutron ignores If-Match in updates of trunks",
  },
  {
    pattern: /^GET \/v2\.0\/ports: order by status/,
    reason: "ports of routers are ACTIVE at once",
  },
  {
    pattern: /NetTypeNotSupported "Network type <neutron_lib/,
    reason: "Neutron names an object of Python as the missing type",
  },
  {
    pattern: /\/tags: 400 InvalidInput .*Invalid tags body\." is 400 InvalidInput/,
    reason: "the text names the invalid tag",
  },
];
