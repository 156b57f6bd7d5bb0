/** A kind of difference that is meant, with its reason. */
interface MeantDifference {
  /** Matches the text of a kind. */
  readonly pattern: RegExp;
  readonly reason: string;
}

/** A Python function that rejects a request, with its number in this process. Its reason follows in quotes. */
const CALLBACK = "Callback neutron\\.[\\w.]+-<n> failed with ";
const MORE_CALLBACKS = `(?:,${CALLBACK}"[^"]+")*`;
const IN_USE = "RBAC policy on object <id> cannot be removed because other objects depend on it\\.\\nDetails: ";

/**
 * All intended differences between the embedded Network service and Debian's Neutron 21. Each pattern names the requests and
 * both responses, so that it hides nothing else.
 */
export const MEANT_DIFFERENCES: readonly MeantDifference[] = [
  {
    pattern:
      /^[A-Z]+ \S+: 500 (?:HTTPInternalServerError "Request Failed: internal server error while processing your request\."|Invalid "\w+: .* is invalid \[.*\]\."|PolicyCheckError ".*"|<html>.*) is 4\d\d \w+ "/s,
    reason: "Neutron fails for some invalid requests, with 500; the service rejects them",
  },
  {
    pattern:
      /^(?:POST|PUT|DELETE) \/v2\.0\/(?:agents|availability_zones|floatingip-pools|log\/loggable-resources|network-ip-availabilities|qos\/rule-types|security-group-rules|service-providers|flavors\/\{id\}\/service_profiles)(?:\/\{id\})?: 40[034] .* is (?:404 HTTPNotFound|405 HTTPMethodNotAllowed) "/,
    reason:
      "Neutron validates the body of an operation that the resource lacks, and looks for its record, before it fails",
  },
  {
    pattern: /^GET \/v2\.0\/flavors\/\{id\}\/service_profiles: 400 .* is 405 HTTPMethodNotAllowed "/,
    reason: "Neutron validates the filters of a list that it does not have before it fails",
  },
  {
    pattern: /^GET \/v2\.0\/auto-allocated-topology\/\{id\}\?fields=dry-run: 404 HTTPNotFound .* is 200$/,
    reason: "members may run a topology dry, as newer releases let them",
  },
  {
    pattern:
      /^GET \/v2\.0\/auto-allocated-topology\/\{id\}\?fields=dry-run: auto_allocated_topology\.project_id: absent is /,
    reason: "Neutron shows the older name of the owner only",
  },
  {
    pattern:
      /^PUT \/v2\.0\/subnetpools\/\{id\}: subnetpool\.(?:\w+_prefixlen: (?:\d+|<n>) is "(?:\d+|<n>)"|(?:address_scope_id|default_quota): absent is null)$/,
    reason: "Neutron's response to an update has prefix lengths as numbers, and lacks what is null",
  },
  {
    pattern: new RegExp(
      `^POST /v2\\.0/(?:rbac-policies|subnetpools): 400 InvalidInput "Invalid input for operation: ${CALLBACK}"(.+?)\\.?"${MORE_CALLBACKS}\\." is 400 InvalidInput "(?:Invalid input for operation: )?\\1\\.?"$`,
    ),
    reason: "Neutron names its Python functions, and numbers of its process; the service has the reason alone",
  },
  {
    pattern: new RegExp(
      `^(?:PUT|DELETE) /v2\\.0/rbac-policies/{id}: 409 RbacPolicyInUse "(${IN_USE})${CALLBACK}"(?:${IN_USE})?(.+?)"${MORE_CALLBACKS}" is 409 RbacPolicyInUse "\\1\\2"$`,
    ),
    reason: "Neutron names its Python functions, and numbers of its process; the service has the reason alone",
  },
  {
    pattern: new RegExp(
      `^POST /v2\\.0/rbac-policies: 400 InvalidInput "Invalid input for operation: ${CALLBACK}"'NoneType' object is not subscriptable"${MORE_CALLBACKS}\\." is 400 InvalidInput "Invalid input for operation: [\\w ]+ <id> could not be found\\."$`,
    ),
    reason: "Neutron fails to look for the owner of an object that does not exist; the service names the object",
  },
  {
    pattern: new RegExp(
      `^PUT /v2\\.0/rbac-policies/{id}: 409 RbacPolicyInUse "${IN_USE}${CALLBACK}"'target_project'"${MORE_CALLBACKS}" is 200$`,
    ),
    reason: "Neutron fails to read the target of a change that names none",
  },
  {
    pattern:
      /: 404 RbacPolicyNotFound "RBAC policy of type \w+ with ID <id> not found" is 404 RbacPolicyNotFound "RBAC policy of type unknown with ID <id> not found"$/,
    reason: "Neutron names the type of a hidden policy if it has found the policy for another caller",
  },
  {
    pattern: /: 409 NeutronDbObjectDuplicateEntry "Failed to create a duplicate Trunk.* is 409 ParentPortInUse "/,
    reason: "Neutron finds another project's trunk of a port in its database only",
  },
  {
    pattern:
      /: 409 NeutronDbObjectDuplicateEntry "Failed to create a duplicate FloatingIP.* is 409 FloatingIPPortAlreadyAssociated "/,
    reason: "Neutron finds another project's floating IP of a port in its database only",
  },
  {
    pattern: /^POST \/v2\.0\/routers: 409 Conflict "HTTP <n> AvailabilityZoneNotFound/,
    reason: "Neutron reports the rollback of a router as an error of its own",
  },
  {
    pattern:
      /^(?:GET|POST|PUT) \/v2\.0\/(?:networks|routers)(?:\/\{id\}(?:\/\w+_extraroutes)?)?: (?:networks?|routers?)(?:\[\])?\.availability_zones\[\]: (?:absent is "nova"|"nova" is absent)$/,
    reason: "Neutron schedules routers and networks to agents after the response, and leaves them there",
  },
  {
    pattern:
      /^PUT \/v2\.0\/routers\/\{id\}\/\w+: 403 PolicyNotAuthorized "\(+(rule:.*) is disallowed by policy" is 403 PolicyNotAuthorized "\(+\1 and rule:\w+:enable_default_route_bfd\) and rule:\w+:enable_default_route_ecmp\) is disallowed by policy"$/,
    reason: "attributes of newer releases are part of a router's actions",
  },
  {
    pattern:
      /: 412 RevisionNumberConstraintFailed "(Constrained to \S+), but current revision is \S+(?:\n\1, but current revision is \S+)?" is 412 RevisionNumberConstraintFailed "Constrained to \S+, but current revision is \S+"$/,
    reason: "the revisions of the two grow by other steps, and Neutron may say it twice",
  },
  {
    pattern:
      /^PUT \S+: 412 RevisionNumberConstraintFailed "Constrained to \S+, but current revision is \S+" is 4(?:00|09) \w+ "/,
    reason: "of two reasons to reject a request either may be named: Neutron compares revisions at its first write",
  },
  {
    pattern: /^GET \/v2\.0\/qos\/policies\/\{id\}\/\w+: 500 PolicyCheckError .* is 200$/,
    reason: "Neutron fails to find the policy of a rule in a list",
  },
  {
    pattern:
      /^GET \/v2\.0\/qos\/policies\/\{id\}\/(?:packet_rate_limit|minimum_packet_rate)_rules(?:\/\{id\})?: 500 <html>.* is 200$/s,
    reason: "Neutron fails to find the policy of a rule in a list",
  },
  {
    pattern: /^GET \/v2\.0\/network-segment-ranges\S*: network_segment_ranges?(?:\[\])?\.(?:used\.\S+|available\[\]): /,
    reason: "both choose any free segment of a range",
  },
  {
    pattern:
      /^DELETE \/v2\.0\/qos\/policies\/\{id\}: 409 QosPolicyInUse "QoS Policy <id> is used by (\w+) <id>\." is 409 QosPolicyInUse "QoS Policy <id> is used by \1 <id>\."$/,
    reason: "of several users of a policy either may be named: both take the one with the lowest id",
  },
  {
    pattern:
      /^PUT \/v2\.0\/ports\/\{id\}: 409 UnsupportedPortDeviceOwner "(Operation mac address update is not supported for device_owner \S+ on port) <built-in function id>\." is 409 UnsupportedPortDeviceOwner "\1 <id>\."$/,
    reason: "Neutron names a function of Python instead of the port",
  },
  {
    pattern:
      /^(?:POST|PUT) \/v2\.0\/ports(?:\/\{id\})?: 20[01] is 400 HTTPBadRequest "The request has a value of an unexpected type\."$/,
    reason: "Neutron accepts a host (binding:host_id) of any type, and stores what its database makes of it",
  },
  {
    pattern: /^GET \/v2\.0\/ports: ports\[\]\.trunk_details\.sub_ports\[\]\.mac_address: absent is "<mac>"$/,
    reason: "Neutron leaves the MAC addresses of subports out of lists by mistake",
  },
];
