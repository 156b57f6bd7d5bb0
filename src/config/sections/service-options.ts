import { Derived, forControlPlane, literal, option, unset } from "../option.js";
import { QUIRK_NAMES, RELEASES } from "../quirks.js";
import { boolean, choice, controlPlaneUrl, float, integer, list, names, text } from "../value-type.js";

export const COMPUTE_OPTIONS = {
  resource_provider_association_refresh: option(
    integer({ min: 0 }),
    300,
    "Seconds after which cached inventories, aggregates and traits are read again from Placement. 0 means never.",
  ),
  sharing_providers_max_uuids_per_request: option(
    integer({ min: 1 }),
    200,
    "Maximum number of aggregates in one request for sharing providers.",
  ),
  provider_config_location: option(
    text,
    new Derived("<state_path>/provider_config", () => "$state_path/provider_config"),
    "Folder of provider.yaml files. All files *.yaml in it are read.",
  ),
  consecutive_build_service_disable_threshold: option(
    integer({ min: 0 }),
    10,
    "0 disables the count of consecutive failed builds. Any other value enables it, and the scheduler ranks hosts with " +
      "failed builds last.",
  ),
  image_type_exclude_list: option(list, [], "Disk formats of images that this host does not support."),
  max_disk_devices_to_attach: option(
    integer({ min: -1 }),
    -1,
    "Maximum number of disks of a guest. -1 means no limit; 0 is invalid.",
  ),
  lean_tracking: option(
    boolean,
    true,
    "Whether the agent sends Placement only requests that can change something. False: it sends the same requests as " +
      "nova-compute.",
  ),
  heal_moved_allocations: option(
    boolean,
    false,
    "Whether the agent removes allocations on this host's provider if their instance is on another host and no move is in " +
      "progress.",
  ),
  reconcile_allocations: option(
    choice(["off", "report", "repair"]),
    "off",
    "Whether the agent searches for leaked allocations on this host's providers: report logs them, repair removes them.",
  ),
  reconcile_interval: option(integer({ min: 1 }), 3600, "Seconds between two searches of reconcile_allocations."),
};

export const PLACEMENT_OPTIONS = {
  auth_type: unset(
    choice(["password", "v3password", "v3applicationcredential", "admin_token", "none"]),
    "Authentication method. Unset: the agent uses the credentials that the control plane provides.",
  ),
  auth_section: unset(
    text,
    "Section that contains auth_type and the other options for authentication, for example keystone_authtoken.",
  ),
  auth_url: unset(
    text,
    "URL of Identity, with or without /v3, for auth_type = password or v3applicationcredential. Without /v3, password " +
      "discovers the API version.",
  ),
  username: unset(text, "User name, for auth_type = password, or owner of the application credential."),
  user_id: unset(text, "User id, instead of username."),
  application_credential_id: unset(text, "Id of the application credential, for auth_type = v3applicationcredential."),
  application_credential_name: unset(
    text,
    "Name of the application credential, instead of its id. Requires username or user_id.",
  ),
  application_credential_secret: unset(text, "Secret of the application credential.", { secret: true }),
  password: unset(text, "Password, for auth_type = password.", { secret: true }),
  project_name: unset(text, "Project name of the token."),
  project_id: unset(text, "Project id, instead of project_name."),
  system_scope: unset(choice(["all"]), "Scope of the token: all selects the system instead of a project."),
  user_domain_name: unset(text, "Domain name of the user, often Default."),
  user_domain_id: unset(text, "Domain id of the user, instead of user_domain_name."),
  project_domain_name: unset(text, "Domain name of the project, often Default."),
  project_domain_id: unset(text, "Domain id of the project, instead of project_domain_name."),
  default_domain_id: unset(text, "Domain id of the user and of the project, if no other option sets it."),
  default_domain_name: unset(text, "Domain name of the user and of the project, if no other option sets it."),
  token: unset(text, "Token, for auth_type = admin_token.", { secret: true }),
  endpoint: unset(text, "URL of Placement, for auth_type = admin_token or none."),
  endpoint_override: unset(text, "URL of Placement, instead of the endpoint in Identity's catalog."),
  region_name: unset(text, "Region of the endpoint in Identity's catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Endpoint interfaces in order of preference."),
  timeout: option(integer({ min: 1 }), 60, "Timeout of a request to Placement in seconds."),
  max_connections: option(integer({ min: 1 }), 32, "Maximum number of concurrent connections to Placement."),
  cafile: unset(
    text,
    "PEM file with CA certificates for HTTPS. Unset: the CA certificates of the system. cafile, certfile, keyfile and " +
      "insecure apply to all HTTPS requests of the agent, including those of its virt driver.",
  ),
  certfile: unset(text, "PEM file with the agent's client certificate for HTTPS."),
  keyfile: unset(text, "PEM file with the private key of certfile. Unset: the key is in certfile."),
  insecure: option(boolean, false, "Whether the agent accepts any certificate."),
  connect_retries: option(integer({ min: 0 }), 0, "Number of retries of a request that got no response."),
  connect_retry_delay: unset(
    float({ min: 0 }),
    "Seconds before a retry of a request that got no response. Unset: 0.5, doubled after each retry.",
  ),
  status_code_retries: option(
    integer({ min: 0 }),
    0,
    "Number of retries of a request whose response has one of retriable_status_codes.",
  ),
  status_code_retry_delay: unset(
    float({ min: 0 }),
    "Seconds before a retry after one of retriable_status_codes. Unset: 0.5, doubled after each retry.",
  ),
  retriable_status_codes: option(list, ["503"], "HTTP status codes that are retried."),
};

export const GLANCE_OPTIONS = {
  endpoint_override: unset(text, "URL of the Image service, instead of the endpoint in Identity's catalog."),
  api_servers: option(list, [], "URLs of the Image service in older configurations. Only the first is used."),
  region_name: unset(text, "Region of the endpoint in Identity's catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Endpoint interfaces in order of preference."),
  cafile: unset(
    text,
    "PEM file with CA certificates for HTTPS. If cafile, certfile and insecure are all unset, [placement] applies.",
  ),
  certfile: unset(text, "PEM file with the agent's client certificate for HTTPS."),
  keyfile: unset(text, "PEM file with the private key of certfile. Unset: the key is in certfile."),
  insecure: option(boolean, false, "Whether the agent accepts any certificate."),
  num_retries: option(integer({ min: 0 }), 3, "Number of retries of a request that got no response."),
};

export const AGENT_OPTIONS = {
  ignore_networks: option(
    boolean,
    false,
    "Whether an agent of a real Nova builds servers without the requested networks. False: it rejects them.",
  ),
  driver_import_timeout: option(
    integer({ min: 0 }),
    60,
    "Timeout in seconds for loading the module of a driver that is not built in. 0 means no timeout.",
  ),
  driver_create_timeout: option(
    integer({ min: 0 }),
    60,
    "Timeout of a driver's create in seconds. 0 means no timeout.",
  ),
  driver_init_timeout: option(
    integer({ min: 0 }),
    300,
    "Timeout of a driver's initHost in seconds. 0 means no timeout.",
  ),
};

export const CONDUCTOR_OPTIONS = {
  url: unset(controlPlaneUrl, "URL of the conductor (ws://…, wss://…). Unset: the agent reads it from <state-dir>."),
  join_token_file: option(
    text,
    new Derived("<state-dir>/join-token", ({ stateDir }) => `${literal(stateDir)}/join-token`),
    "File with the join token, which authenticates agents.",
  ),
  join_token: unset(text, "Join token, as compute-agent join writes it. Overrides join_token_file.", {
    secret: true,
  }),
  cafile: unset(
    text,
    "PEM file with the CA certificates that verify the control plane and its Placement, Image and Identity. Unset: ca, otherwise " +
      "the CA certificates of the system. The verification cannot be disabled, since it protects the join token.",
  ),
  ca: unset(text, "CA certificates in PEM, as compute-agent join writes them. cafile overrides them."),
};

export const WORKAROUND_OPTIONS = {
  disable_compute_service_check_for_ffu: option(
    boolean,
    false,
    "Whether the agent starts although other compute services are too old, as in a fast-forward upgrade.",
  ),
  disable_group_policy_check_upcall: option(
    boolean,
    false,
    "Whether the agent skips the check of the server group policy when a server arrives on this host.",
  ),
  handle_virt_lifecycle_events: option(
    boolean,
    true,
    "Whether the agent updates the power state of guests that other programs start and stop.",
  ),
  skip_reserve_in_use_ironic_nodes: option(
    boolean,
    false,
    "Whether the inventory of Ironic nodes in use stays unreserved.",
  ),
  upstream_quirks: option(
    names(QUIRK_NAMES, { ...RELEASES, all: QUIRK_NAMES }),
    new Set<never>(),
    "Defects of upstream Nova that the agent reproduces: the name of a release for all its defects, or single quirks. " +
      "all is not a release: it selects the defects of every release, to examine one of them.",
  ),
};

export const SCHEDULER_OPTIONS = forControlPlane({
  max_attempts: option(integer({ min: 1 }), 3, "Maximum number of hosts that a build tries."),
  max_placement_results: option(
    integer({ min: 1 }),
    1000,
    "Maximum number of allocation candidates that the scheduler requests.",
  ),
  limit_tenants_to_placement_aggregate: option(
    boolean,
    false,
    "Whether the servers of a project are restricted to the host aggregates whose metadata contains the project, in " +
      "filter_tenant_id or a key with this prefix.",
  ),
  placement_aggregate_required_for_tenants: option(
    boolean,
    false,
    "Whether limit_tenants_to_placement_aggregate rejects projects without an aggregate.",
  ),
  enable_isolated_aggregate_filtering: option(
    boolean,
    false,
    "Whether host aggregates with the metadata trait:NAME=required are reserved for servers whose flavor or image " +
      "requires the trait.",
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
    "Filters that the scheduler applies to hosts. SameHostFilter and DifferentHostFilter apply the hints same_host and " +
      "different_host.",
    { reader: "control-plane" },
  ),
  track_instance_changes: option(boolean, true, "Whether the agent reports this host's instances to the scheduler."),
  ram_weight_multiplier: option(
    float(),
    1,
    "Weight of free memory. A negative value prefers hosts with less free memory. Aggregate metadata with the name of a multiplier " +
      "overrides it for the hosts of the aggregate.",
    { reader: "control-plane" },
  ),
  cpu_weight_multiplier: option(
    float(),
    1,
    "Weight of free VCPUs. A negative value prefers hosts with fewer free VCPUs.",
  ),
  disk_weight_multiplier: option(
    float(),
    1,
    "Weight of free disk. A negative value prefers hosts with less free disk.",
  ),
  io_ops_weight_multiplier: option(
    float(),
    -1,
    "Weight of guests that are being built, moved, rebuilt, rescued or saved as images. A negative value prefers hosts " +
      "with fewer of them.",
    { reader: "control-plane" },
  ),
  build_failure_weight_multiplier: option(
    float(),
    1_000_000,
    "Weight of failed builds, which are counted against a host.",
  ),
  soft_affinity_weight_multiplier: option(
    float({ min: 0 }),
    1,
    "Weight of members of the server's soft-affinity group on a host.",
    { reader: "control-plane" },
  ),
  soft_anti_affinity_weight_multiplier: option(
    float({ min: 0 }),
    1,
    "Weight of members of the server's soft-anti-affinity group, which are counted against a host.",
  ),
};

export const API_OPTIONS = forControlPlane({
  service_delete_policy: option(
    choice(["strict", "upstream", "cascade"]),
    "strict",
    "Policy for deleting a compute service while its providers have allocations. strict rejects the request, cascade " +
      "removes the allocations, upstream deletes the service and leaves the providers behind.",
  ),
});

export const CINDER_OPTIONS = {
  cross_az_attach: option(
    boolean,
    true,
    "Whether a server may have volumes of other availability zones than its own. False: new volumes are created in the " +
      "server's zone.",
  ),
};

export const NETWORK_OPTIONS = forControlPlane({
  start: option(
    choice(["devstack", "flat", "empty"]),
    "devstack",
    "Networks that a new cloud starts with. devstack creates the external network public, and the network private and the " +
      "router router1 of the project demo. It also creates a large network shared, for projects without a network of their own. " +
      "flat creates one shared network. Deleted ones are not created again.",
  ),
  dns_domain: option(
    text,
    "openstacklocal",
    "Domain of ports' names, as in neutron.conf. With openstacklocal, as in Neutron, ports have no dns_name of their own.",
  ),
});

/** Nova's options are the limits of a project unless it or the class `default` has its own; -1 means no limit. */
const limit = (most: number, help: string) => option(integer({ min: -1 }), most, help);

export const QUOTA_OPTIONS = forControlPlane({
  driver: option(
    choice(["nova.quota.DbQuotaDriver", "nova.quota.NoopQuotaDriver"]),
    "nova.quota.DbQuotaDriver",
    "Quota driver. NoopQuotaDriver enforces no limits, and the API returns -1 for each.",
  ),
  instances: limit(
    10,
    "Maximum number of servers of a project. In this section, -1 means no limit. The quota of ports is Neutron's, 500, and " +
      "none if this limit is higher.",
  ),
  cores: limit(20, "Maximum number of VCPUs of all servers of a project."),
  ram: limit(50 * 1024, "Maximum memory in MB of all servers of a project."),
  metadata_items: limit(128, "Maximum number of metadata items of a server."),
  injected_files: limit(5, "Maximum number of injected files at create or rebuild (API before 2.57)."),
  injected_file_content_bytes: limit(10 * 1024, "Maximum size in bytes of an injected file."),
  injected_file_path_length: limit(255, "Maximum number of characters in the path of an injected file."),
  key_pairs: limit(100, "Maximum number of key pairs of a user."),
  server_groups: limit(10, "Maximum number of server groups of a project."),
  server_group_members: limit(10, "Maximum number of servers of a user in one server group."),
});
