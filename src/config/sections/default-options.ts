import { Derived, literal, option, unset } from "../option.js";
import { auditPeriod, boolean, choice, float, hostName, integer, text } from "../value-type.js";
import { TRANSPORT_URL } from "./rabbit-options.js";

const SPACING = "0 means 60 seconds, a negative value disables the task.";

const spacing = (seconds: number, what: string) => option(integer(), seconds, `${what} ${SPACING}`);

/** `[DEFAULT]`: options of the agent itself. */
const identity = {
  host: option(
    hostName,
    new Derived("<host name of the machine>", ({ hostname }) => literal(hostname)),
    "Name of this compute host in the control plane. Do not change it while the hypervisor has guests.",
  ),
  my_ip: option(text, "127.0.0.1", "IP address of this host, as the agent reports it to other hosts and to clients."),
  state_path: option(
    text,
    new Derived("<state-dir>/agents/$host", ({ stateDir }) => `${literal(stateDir)}/agents/$host`),
    "Folder of the agent's persistent state, for example the file compute_id.",
  ),
  compute_driver: option(
    text,
    "fake-libvirt",
    "Virt driver: a built-in driver (fake-libvirt, ironic, qemu), an npm package, or the path of a module.",
  ),
};

const service = {
  transport_url: TRANSPORT_URL,
  report_interval: option(integer({ min: 1 }), 10, "Seconds between two heartbeats."),
  service_down_time: option(
    integer({ min: 1 }),
    60,
    "Seconds after the last heartbeat until a service counts as down. If the value is not greater than report_interval, " +
      "2.5 times report_interval is used.",
  ),
  enable_new_services: option(
    boolean,
    true,
    "Whether the compute service of a new host starts enabled, so that the scheduler can choose the host.",
  ),
  graceful_shutdown_timeout: option(
    integer({ min: 0 }),
    180,
    "Maximum number of seconds for the shutdown of the service.",
  ),
  manager_shutdown_timeout: option(
    integer({ min: 0 }),
    160,
    "Seconds of graceful_shutdown_timeout during which the agent waits for running operations.",
  ),
};

const periodic = {
  periodic_enable: option(boolean, true, "Whether periodic tasks run."),
  periodic_fuzzy_delay: option(
    integer({ min: 0 }),
    60,
    "Maximum number of seconds by which the first run of a periodic task is delayed at random.",
  ),
  update_resources_interval: spacing(0, "Seconds between two updates of the resource tracker and of Placement."),
  running_deleted_instance_poll_interval: spacing(
    1800,
    "Seconds between two searches for guests of deleted instances.",
  ),
  running_deleted_instance_action: option(
    choice(["reap", "shutdown", "log", "noop"]),
    "reap",
    "Action for a guest whose instance is deleted.",
  ),
  running_deleted_instance_timeout: option(
    integer({ min: 0 }),
    0,
    "Seconds from the deletion of an instance to running_deleted_instance_action.",
  ),
  sync_power_state_interval: spacing(600, "Seconds between two comparisons of power states with the hypervisor."),
  instance_delete_interval: spacing(
    300,
    "Seconds between two attempts to remove the remaining files of deleted instances.",
  ),
  maximum_instance_delete_attempts: option(
    integer({ min: 1 }),
    5,
    "Maximum number of attempts to remove the files of one deleted instance.",
  ),
  shelved_poll_interval: spacing(3600, "Seconds between two searches for shelved instances to offload."),
  shelved_offload_time: option(
    integer({ min: -1 }),
    0,
    "Seconds after which a shelved instance is offloaded. 0 offloads immediately, -1 never.",
  ),
  scheduler_instance_sync_interval: spacing(
    120,
    "Seconds between two reports of this host's instances to the scheduler.",
  ),
  resize_confirm_window: option(
    integer({ min: 0 }),
    0,
    "Seconds after which a resize is confirmed automatically. 0 means never.",
  ),
  reclaim_instance_interval: option(
    integer({ min: 0 }),
    0,
    "Seconds during which a deleted instance can be restored. 0 deletes immediately.",
  ),
  vif_plugging_timeout: option(
    integer({ min: 0 }),
    300,
    "Seconds that the creation of a guest waits until its ports are plugged. 0 does not wait.",
  ),
  vif_plugging_is_fatal: option(
    boolean,
    true,
    "Whether the creation of a guest fails if its ports are not plugged within vif_plugging_timeout.",
  ),
  block_device_allocate_retries: option(
    integer({ min: 0 }),
    60,
    "Number of times that a build checks again whether a new volume is available.",
  ),
  block_device_allocate_retries_interval: option(
    integer({ min: 0 }),
    3,
    "Seconds between two checks whether a new volume is available.",
  ),
  reimage_timeout_per_gb: option(
    integer({ min: 1 }),
    20,
    "Seconds that a rebuild waits for each GiB until its root volume has the data of another image.",
  ),
  instance_build_timeout: option(
    integer({ min: 0 }),
    0,
    "Seconds after which an unfinished build is set to ERROR. 0 means never.",
  ),
  instance_usage_audit: option(
    boolean,
    false,
    "Whether the agent records once per period how many servers this host had. The API os-instance_usage_audit_log " +
      "returns the records.",
  ),
  instance_usage_audit_period: option(
    auditPeriod,
    "month",
    "Period of the usage audit: hour, day, month or year. An offset can follow after @: minutes, hours, day of the month, " +
      "or month.",
  ),
};

const resources = {
  reserved_host_disk_mb: option(integer({ min: 0 }), 0, "Disk in MB that is reserved for the host."),
  reserved_host_memory_mb: option(integer({ min: 0 }), 512, "Memory in MB that is reserved for the host."),
  reserved_host_cpus: option(integer({ min: 0 }), 0, "Number of CPUs that are reserved for the host."),
  cpu_allocation_ratio: unset(
    float({ min: 0 }),
    "Allocation ratio of VCPU, which the agent enforces. Unset: the value in Placement stays.",
  ),
  ram_allocation_ratio: unset(float({ min: 0 }), "Allocation ratio of MEMORY_MB, as cpu_allocation_ratio."),
  disk_allocation_ratio: unset(float({ min: 0 }), "Allocation ratio of DISK_GB, as cpu_allocation_ratio."),
  initial_cpu_allocation_ratio: option(float({ min: 0 }), 4, "Allocation ratio of VCPU of a new resource provider."),
  initial_ram_allocation_ratio: option(
    float({ min: 0 }),
    1,
    "Allocation ratio of MEMORY_MB of a new resource provider.",
  ),
  initial_disk_allocation_ratio: option(
    float({ min: 0 }),
    1,
    "Allocation ratio of DISK_GB of a new resource provider.",
  ),
};

const operations = {
  resume_guests_state_on_host_boot: option(
    boolean,
    false,
    "Whether the agent restarts guests that were running before the host went down.",
  ),
  allow_resize_to_same_host: option(boolean, false, "Whether the destination of a resize can be its source host."),
  force_config_drive: option(
    boolean,
    false,
    "Whether every new guest gets a config drive, even if none was requested.",
  ),
  max_concurrent_builds: option(integer({ min: 0 }), 10, "Maximum number of concurrent builds. 0 means no limit."),
  max_concurrent_live_migrations: option(
    integer({ min: 0 }),
    1,
    "Maximum number of concurrent live migrations. 0 means no limit.",
  ),
  migrate_max_retries: option(
    integer({ min: -1 }),
    -1,
    "Number of further hosts that a live migration tries. -1 tries all hosts.",
  ),
};

export const DEFAULT_OPTIONS = { ...identity, ...service, ...periodic, ...resources, ...operations };
