import { Derived, forControlPlane, literal, option, unset } from "../option.js";
import { QUIRK_NAMES, RELEASES } from "../quirks.js";
import { boolean, choice, controlPlaneUrl, float, integer, list, names, text } from "../value-type.js";

export const COMPUTE_OPTIONS = {
  resource_provider_association_refresh: option(
    integer({ min: 0 }),
    300,
    "Seconds after which inventories, aggregates and traits are read again from Placement; 0 never.",
  ),
  sharing_providers_max_uuids_per_request: option(
    integer({ min: 1 }),
    200,
    "Aggregates named in one request for sharing providers.",
  ),
  provider_config_location: option(
    text,
    new Derived("<state_path>/provider_config", () => "$state_path/provider_config"),
    "Folder of provider.yaml files (*.yaml).",
  ),
  consecutive_build_service_disable_threshold: option(
    integer({ min: 0 }),
    10,
    "Failed builds in a row that put a host last in the scheduler's order; 0 does not count them.",
  ),
  image_type_exclude_list: option(list, [], "Disk formats of images that this host does not take."),
  max_disk_devices_to_attach: option(integer({ min: -1 }), -1, "Disks that a guest may have; -1 for any number."),
  lean_tracking: option(
    boolean,
    true,
    "Send Placement only requests that can change something; off sends those that nova-compute sends.",
  ),
  heal_moved_allocations: option(
    boolean,
    false,
    "Remove what an instance that rests on another host still holds on this host's provider.",
  ),
  reconcile_allocations: option(
    choice(["off", "report", "repair"]),
    "off",
    "Look for allocations that nobody will ever free, and report or remove them.",
  ),
  reconcile_interval: option(integer({ min: 1 }), 3600, "Seconds between two such looks."),
};

export const PLACEMENT_OPTIONS = {
  auth_type: unset(
    choice(["password", "v3password", "v3applicationcredential", "admin_token", "none"]),
    "How the agent authenticates; unset uses the access that the control plane gives it.",
  ),
  auth_section: unset(
    text,
    "Section that has auth_type and all that belongs to it, up to the domains: keystone_authtoken, for example.",
  ),
  auth_url: unset(
    text,
    "Address of Identity, for auth_type = password or v3applicationcredential; with or without /v3.",
  ),
  username: unset(text, "User, for auth_type = password; or whose application credential it is."),
  user_id: unset(text, "The user by id instead of by name."),
  application_credential_id: unset(text, "For auth_type = v3applicationcredential."),
  application_credential_name: unset(text, "The same by name; then username or user_id is needed, too."),
  application_credential_secret: unset(text, "Secret of the application credential.", { secret: true }),
  password: unset(text, "Password, for auth_type = password.", { secret: true }),
  project_name: unset(text, "Project that the token is for."),
  project_id: unset(text, "The project by id instead of by name."),
  system_scope: unset(choice(["all"]), "A token for the whole system instead of a project."),
  user_domain_name: unset(text, "Domain of the user; often Default."),
  user_domain_id: unset(text, "The user's domain by id instead of by name."),
  project_domain_name: unset(text, "Domain of the project; often Default."),
  project_domain_id: unset(text, "The project's domain by id instead of by name."),
  default_domain_id: unset(text, "Domain of user and project where none is named."),
  default_domain_name: unset(text, "The same by name."),
  token: unset(text, "Token, for auth_type = admin_token.", { secret: true }),
  endpoint: unset(text, "Address of Placement, for auth_type = admin_token or none."),
  endpoint_override: unset(text, "Address of Placement, instead of the one in Identity's catalog."),
  region_name: unset(text, "Region whose endpoint is taken from the catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Interfaces of endpoints, the first that is there is taken."),
  timeout: option(integer({ min: 1 }), 60, "Seconds that Placement may take for an answer."),
  max_connections: option(integer({ min: 1 }), 32, "Connections to Placement at a time."),
  cafile: unset(text, "Authorities that HTTPS is checked against, in PEM; unset: the system's."),
  certfile: unset(text, "This agent's certificate for HTTPS, in PEM."),
  keyfile: unset(text, "Its key."),
  insecure: option(boolean, false, "Take any certificate."),
  connect_retries: option(integer({ min: 0 }), 0, "How often a request is sent again that nothing answered."),
  connect_retry_delay: unset(float({ min: 0 }), "Seconds before that; unset: half a second, doubled each time."),
  status_code_retries: option(
    integer({ min: 0 }),
    0,
    "How often a request is sent again that was answered with one of retriable_status_codes.",
  ),
  status_code_retry_delay: unset(float({ min: 0 }), "Seconds before that; unset: half a second, doubled each time."),
  retriable_status_codes: option(list, ["503"], "HTTP statuses that pass."),
};

export const GLANCE_OPTIONS = {
  endpoint_override: unset(text, "Address of the Image service, instead of the one in Identity's catalog."),
  api_servers: option(list, [], "The same in older configurations; the first of them is asked."),
  region_name: unset(text, "Region whose endpoint is taken from the catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Interfaces of endpoints, the first that is there is taken."),
  cafile: unset(
    text,
    "Authorities that HTTPS is checked against, in PEM; unset, with the three below: as in [placement].",
  ),
  certfile: unset(text, "This agent's certificate for HTTPS, in PEM."),
  keyfile: unset(text, "Its key."),
  insecure: option(boolean, false, "Accept any certificate."),
  num_retries: option(integer({ min: 0 }), 3, "How often a request is sent again that nothing answered."),
};

export const AGENT_OPTIONS = {
  ignore_networks: option(
    boolean,
    false,
    "Under a real Nova: build servers without the networks that are asked for, instead of refusing them.",
  ),
  driver_import_timeout: option(
    integer({ min: 0 }),
    60,
    "Seconds that the module of a driver that is not built in may take to load; 0: any time.",
  ),
  driver_create_timeout: option(integer({ min: 0 }), 60, "Seconds that a driver's create may take; 0: any time."),
  driver_init_timeout: option(integer({ min: 0 }), 300, "Seconds that a driver's initHost may take; 0: any time."),
};

export const CONDUCTOR_OPTIONS = {
  url: unset(controlPlaneUrl, "Address of the conductor (ws://…, wss://…); unset reads it from <state-dir>."),
  join_token_file: option(
    text,
    new Derived("<state-dir>/join-token", ({ stateDir }) => `${literal(stateDir)}/join-token`),
    "File with the token that admits an agent.",
  ),
  join_token: unset(text, "The token itself, as compute-agent join writes it; wins over join_token_file.", {
    secret: true,
  }),
  cafile: unset(
    text,
    "Authorities that the control plane's certificate is checked against, in PEM, and that of the Placement, Image and Identity " +
      "it embeds; unset: ca, else the system's. The check cannot be left out: the token would go to anybody.",
  ),
  ca: unset(text, "The same as text, as compute-agent join writes it."),
};

export const WORKAROUND_OPTIONS = {
  disable_compute_service_check_for_ffu: option(
    boolean,
    false,
    "Start although other compute services are too old, for a fast-forward upgrade.",
  ),
  disable_group_policy_check_upcall: option(
    boolean,
    false,
    "Do not look again at the policy of a server group when one of its servers arrives on this host.",
  ),
  handle_virt_lifecycle_events: option(boolean, true, "Follow guests that are started and stopped from outside."),
  skip_reserve_in_use_ironic_nodes: option(boolean, false, "Do not reserve the inventory of Ironic nodes in use."),
  upstream_quirks: option(
    names(QUIRK_NAMES, { ...RELEASES, all: QUIRK_NAMES }),
    new Set<never>(),
    "Defects of upstream Nova to reproduce: a release for what that one does (zed to 2026.1, master), or single quirks; " +
      "all is no release: it has every defect there ever was, for looking at one of them.",
  ),
};

export const SCHEDULER_OPTIONS = forControlPlane({
  max_attempts: option(integer({ min: 1 }), 3, "Hosts that a build tries."),
  max_placement_results: option(integer({ min: 1 }), 1000, "Allocation candidates asked for."),
  limit_tenants_to_placement_aggregate: option(
    boolean,
    false,
    "Keep a project to the host aggregates whose metadata names it: filter_tenant_id, or a key that begins so.",
  ),
  placement_aggregate_required_for_tenants: option(
    boolean,
    false,
    "With limit_tenants_to_placement_aggregate: refuse projects that no aggregate names.",
  ),
  enable_isolated_aggregate_filtering: option(
    boolean,
    false,
    "Keep host aggregates with metadata trait:NAME=required to servers whose flavor or image requires the trait.",
  ),
});

/**
 * The Nova filters that the embedded scheduler implements.
 * @internal for tests
 */
export const SCHEDULER_FILTERS = [
  "ComputeFilter",
  "ComputeCapabilitiesFilter",
  "ImagePropertiesFilter",
  "ServerGroupAntiAffinityFilter",
  "ServerGroupAffinityFilter",
  "SameHostFilter",
  "DifferentHostFilter",
] as const;

export type SchedulerFilter = (typeof SCHEDULER_FILTERS)[number];

export const FILTER_SCHEDULER_OPTIONS = {
  enabled_filters: option(
    names(SCHEDULER_FILTERS, {}),
    new Set(SCHEDULER_FILTERS.slice(0, 5)),
    "Filters by which hosts are chosen. SameHostFilter and DifferentHostFilter obey the hints same_host and different_host.",
    { reader: "control-plane" },
  ),
  track_instance_changes: option(boolean, true, "Tell the scheduler which instances are on this host."),
  ram_weight_multiplier: option(
    float(),
    1,
    "How much free memory counts for a host; negative: against it. As all multipliers here, metadata of this name overrides it " +
      "for the hosts of an aggregate.",
    { reader: "control-plane" },
  ),
  cpu_weight_multiplier: option(float(), 1, "How much free VCPUs count for a host; negative: against it."),
  disk_weight_multiplier: option(float(), 1, "How much free disk counts for a host; negative: against it."),
  io_ops_weight_multiplier: option(
    float(),
    -1,
    "How much guests that are built, moved, rebuilt, rescued or saved as images count for their host; negative: against it.",
    { reader: "control-plane" },
  ),
  build_failure_weight_multiplier: option(float(), 1_000_000, "How much failed builds count against a host."),
  soft_affinity_weight_multiplier: option(
    float({ min: 0 }),
    1,
    "How much a soft-affinity group counts for hosts with its members.",
    { reader: "control-plane" },
  ),
  soft_anti_affinity_weight_multiplier: option(
    float({ min: 0 }),
    1,
    "How much a soft-anti-affinity group counts against hosts with its members.",
  ),
};

export const API_OPTIONS = forControlPlane({
  service_delete_policy: option(
    choice(["strict", "upstream", "cascade"]),
    "strict",
    "What deleting a compute service does about allocations that hold its providers.",
  ),
});

/** Nova's options are the limits of a project unless it or the class `default` has its own; -1 means no limit. */
const limit = (most: number, help: string) => option(integer({ min: -1 }), most, help);

export const QUOTA_OPTIONS = forControlPlane({
  driver: option(
    choice(["nova.quota.DbQuotaDriver", "nova.quota.NoopQuotaDriver"]),
    "nova.quota.DbQuotaDriver",
    "Whether there are quotas; NoopQuotaDriver limits nothing, and shows -1 for everything.",
  ),
  instances: limit(10, "Servers of a project; -1: any number, here and below."),
  cores: limit(20, "VCPUs that its servers have together."),
  ram: limit(50 * 1024, "Memory that its servers have together, in MB."),
  metadata_items: limit(128, "Metadata that one server has."),
  injected_files: limit(5, "Files that a server is given at create or rebuild (API before 2.57)."),
  injected_file_content_bytes: limit(10 * 1024, "Bytes of one such file."),
  injected_file_path_length: limit(255, "Characters of the path of one such file."),
  key_pairs: limit(100, "Key pairs of a user."),
  server_groups: limit(10, "Server groups of a project."),
  server_group_members: limit(10, "Servers that a user has in one server group."),
});
