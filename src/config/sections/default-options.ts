import { Derived, literal, option, unset } from "../option.js";
import { auditPeriod, boolean, choice, float, hostName, integer, text } from "../value-type.js";
import { TRANSPORT_URL } from "./rabbit-options.js";

const SPACING = "Seconds between two runs; 0 means the default of 60, a negative value switches the task off.";

const spacing = (seconds: number, what: string) => option(integer(), seconds, `${what} ${SPACING}`);

/** `[DEFAULT]`: options of the agent itself. */
const identity = {
  host: option(
    hostName,
    new Derived("<host name of the machine>", ({ hostname }) => literal(hostname)),
    "Name of this compute host in the control plane. Never change it while guests are on the hypervisor.",
  ),
  my_ip: option(text, "127.0.0.1", "Address of this host that other hosts and clients are told."),
  state_path: option(
    text,
    new Derived("<state-dir>/agents/$host", ({ stateDir }) => `${literal(stateDir)}/agents/$host`),
    "Folder of what the agent must keep between two starts; the compute_id file is in it.",
  ),
  compute_driver: option(
    text,
    "fake-libvirt",
    "Virt driver: the name of a built-in one (fake-libvirt, ironic, qemu), an npm package, or the path of a module.",
  ),
};

const service = {
  transport_url: TRANSPORT_URL,
  report_interval: option(integer({ min: 1 }), 10, "Seconds between two heartbeats."),
  service_down_time: option(
    integer({ min: 1 }),
    60,
    "Seconds after the last heartbeat until a service counts as down. Not more than report_interval: 2.5 times that.",
  ),
  enable_new_services: option(boolean, true, "Whether a host that joins for the first time may be scheduled to."),
  graceful_shutdown_timeout: option(integer({ min: 0 }), 180, "Seconds that a stopping service takes at most."),
  manager_shutdown_timeout: option(
    integer({ min: 0 }),
    160,
    "Seconds of these that operations under way are waited for.",
  ),
};

const periodic = {
  periodic_enable: option(boolean, true, "Whether periodic tasks run."),
  periodic_fuzzy_delay: option(
    integer({ min: 0 }),
    60,
    "The first run is delayed at random by up to this many seconds.",
  ),
  update_resources_interval: spacing(0, "Resource tracker and Placement are brought up to date."),
  running_deleted_instance_poll_interval: spacing(1800, "Guests of deleted instances are looked for."),
  running_deleted_instance_action: option(
    choice(["reap", "shutdown", "log", "noop"]),
    "reap",
    "What is done with a guest whose instance is deleted.",
  ),
  running_deleted_instance_timeout: option(integer({ min: 0 }), 0, "Seconds since the deletion before that is done."),
  sync_power_state_interval: spacing(600, "Power states are compared with the hypervisor's."),
  instance_delete_interval: spacing(300, "Files of deleted instances are removed once more where that failed."),
  maximum_instance_delete_attempts: option(integer({ min: 1 }), 5, "How often that is tried for one instance."),
  shelved_poll_interval: spacing(3600, "Shelved instances are offloaded when they are old enough."),
  shelved_offload_time: option(
    integer({ min: -1 }),
    0,
    "Seconds after which a shelved instance is offloaded; 0 at once, -1 never.",
  ),
  scheduler_instance_sync_interval: spacing(120, "The scheduler is told which instances are on this host."),
  resize_confirm_window: option(
    integer({ min: 0 }),
    0,
    "Seconds after which a resize is confirmed without being asked; 0 never.",
  ),
  reclaim_instance_interval: option(
    integer({ min: 0 }),
    0,
    "Seconds that a deleted instance can be restored; 0 deletes at once.",
  ),
  vif_plugging_timeout: option(
    integer({ min: 0 }),
    300,
    "Seconds that a guest which is made waits for its ports to be connected; 0: it does not wait.",
  ),
  vif_plugging_is_fatal: option(boolean, true, "A guest whose ports are not connected in that time is not made."),
  instance_build_timeout: option(
    integer({ min: 0 }),
    0,
    "Seconds after which a build that is not finished becomes an error; 0 never.",
  ),
  instance_usage_audit: option(
    boolean,
    false,
    "Note once for each period how many servers this host had in it: os-instance_usage_audit_log shows it.",
  ),
  instance_usage_audit_period: option(
    auditPeriod,
    "month",
    "The period: hour, day, month or year, each with @ and what it begins later by (minutes, hours, day of the month, month).",
  ),
};

const resources = {
  reserved_host_disk_mb: option(integer({ min: 0 }), 0, "Disk in MB that guests do not get."),
  reserved_host_memory_mb: option(integer({ min: 0 }), 512, "Memory in MB that guests do not get."),
  reserved_host_cpus: option(integer({ min: 0 }), 0, "Processors that guests do not get."),
  cpu_allocation_ratio: unset(float({ min: 0 }), "VCPUs per processor, always; unset leaves Placement's value."),
  ram_allocation_ratio: unset(float({ min: 0 }), "As cpu_allocation_ratio, for memory."),
  disk_allocation_ratio: unset(float({ min: 0 }), "As cpu_allocation_ratio, for disk."),
  initial_cpu_allocation_ratio: option(float({ min: 0 }), 4, "The ratio that a new provider begins with."),
  initial_ram_allocation_ratio: option(float({ min: 0 }), 1, "As initial_cpu_allocation_ratio, for memory."),
  initial_disk_allocation_ratio: option(float({ min: 0 }), 1, "As initial_cpu_allocation_ratio, for disk."),
};

const operations = {
  resume_guests_state_on_host_boot: option(
    boolean,
    false,
    "Whether guests that ran before the host went down are started again.",
  ),
  allow_resize_to_same_host: option(boolean, false, "Whether a resize may stay on its host."),
  force_config_drive: option(boolean, false, "Whether each guest that is built gets a config drive, also unrequested."),
  max_concurrent_builds: option(integer({ min: 0 }), 10, "Instances built at a time; 0 for any number."),
  max_concurrent_live_migrations: option(integer({ min: 0 }), 1, "Live migrations at a time; 0 for any number."),
  migrate_max_retries: option(
    integer({ min: -1 }),
    -1,
    "Further hosts that a live migration tries; -1 until there is none left.",
  ),
};

export const DEFAULT_OPTIONS = { ...identity, ...service, ...periodic, ...resources, ...operations };
