/** A cluster's parameters for Tempest. */
export interface TempestCloud {
  /** A folder for its log and its locks. */
  readonly work: string;
  readonly authUrl: string;
  readonly username: string;
  readonly password: string;
  readonly project: string;
  /** The aliases of the Network service's extensions. */
  readonly extensions: readonly string[];
}

/** Nova's default filters, and the two that it leaves to operators. `up` gets the same list. */
export const FILTERS =
  "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,SameHostFilter,DifferentHostFilter";

/** Ports have names in any domain but Neutron's default. `up` gets the same domain. */
export const DNS_DOMAIN = "openstackgate.local";

type Section = Readonly<Record<string, string | number | boolean>>;

/**
 * Returns the text of tempest.conf. Features that README claims are true and those that it excludes are false, so that
 * tests are skipped only for unclaimed features.
 */
export function configuration({ work, authUrl, username, password, project, extensions }: TempestCloud): string {
  const sections: Readonly<Record<string, Section>> = {
    DEFAULT: { log_file: `${work}/tempest.log`, debug: true },
    oslo_concurrency: { lock_path: `${work}/locks` },
    service_available: { nova: true, glance: true, neutron: true, cinder: false, swift: false, horizon: false },
    auth: {
      use_dynamic_credentials: true,
      create_isolated_networks: true,
      admin_username: username,
      admin_password: password,
      admin_project_name: project,
      admin_domain_name: "Default",
      default_credentials_domain_name: "Default",
      tempest_roles: "member",
    },
    identity: { auth_version: "v3", uri_v3: authUrl, region: "RegionOne", v3_endpoint_type: "public" },
    "identity-feature-enabled": {
      trust: false,
      federation: false,
      external_idp: false,
      security_compliance: false,
      project_tags: true,
      application_credentials: true,
      access_rules: true,
      immutable_user_source: false,
    },
    compute: {
      image_ref: "5c6a7c1e-2f0d-4b8e-9a41-1d2f3b4c5d60",
      image_ref_alt: "5c6a7c1e-2f0d-4b8e-9a41-1d2f3b4c5d61",
      fixed_network_name: "private",
      flavor_ref: 42,
      flavor_ref_alt: 84,
      region: "RegionOne",
      build_interval: 1,
      // Long, since the machine has other load.
      build_timeout: 120,
      shelved_offload_time: 0,
      min_compute_nodes: 3,
      hypervisor_type: "fake-libvirt",
      // Without min_microversion: classes that name none use 2.1, which still has Nova's proxies of other services.
      max_microversion: "2.96",
    },
    "compute-feature-enabled": {
      disk_config: true,
      resize: true,
      pause: true,
      shelve: true,
      shelve_migrate: true,
      suspend: true,
      cold_migration: true,
      live_migration: true,
      live_migrate_back_and_forth: true,
      block_migration_for_live_migration: true,
      can_migrate_between_any_hosts: true,
      rescue: true,
      enable_instance_password: true,
      config_drive: true,
      hostname_fqdn_sanitization: true,
      snapshot: true,
      console_output: true,
      interface_attach: true,
      personality: true,
      // Enables calls of an obsolete hypervisor, and everything else that Nova still returns about servers' metadata.
      xenapi_apis: true,
      scheduler_enabled_filters: FILTERS,
      stable_rescue: false,
      change_password: true,
      vnc_console: false,
      serial_console: false,
      metadata_service: false,
      attach_encrypted_volume: false,
      swap_volume: false,
      volume_backed_live_migration: false,
      volume_multiattach: false,
      unified_limits: false,
    },
    network: {
      region: "RegionOne",
      project_networks_reachable: false,
      public_network_id: "c0ffee00-0000-4000-8000-000000000040",
      floating_network_name: "public",
      build_timeout: 120,
    },
    "network-feature-enabled": {
      ipv6: true,
      ipv6_subnet_attributes: true,
      port_security: true,
      floating_ips: true,
      api_extensions: extensions.join(","),
    },
    // Of neutron-tempest-plugin.
    neutron_plugin_options: {
      available_type_drivers: "flat,vlan,local,vxlan,gre",
      provider_vlans: "physnet1",
      agent_availability_zone: "nova",
      l3_agent_mode: "legacy",
      firewall_driver: "openvswitch",
      create_shared_resources: true,
      dns_domain: DNS_DOMAIN,
    },
    placement: { region: "RegionOne", max_microversion: "1.39" },
    // Nothing is fetched from a network; tests only pass the address on.
    image: {
      // A snapshot is often complete before a test that waits for its status "saving" polls. This makes the test give
      // up early.
      build_timeout: 30,
      region: "RegionOne",
      http_image: `${work}/image.img`,
      container_formats: "bare",
      disk_formats: "qcow2,raw",
    },
    "image-feature-enabled": { api_v2: true, import_image: true, os_glance_reserved: true },
    // No guest runs to log in to.
    validation: { run_validation: false, connect_timeout: 1, ssh_timeout: 1 },
    scenario: { img_file: `${work}/image.img`, img_disk_format: "raw" },
  };
  return Object.entries(sections)
    .map(([name, section]) => {
      const lines = Object.entries(section).map(([option, value]) => `${option} = ${value}\n`);
      return `[${name}]\n${lines.join("")}`;
    })
    .join("\n");
}
