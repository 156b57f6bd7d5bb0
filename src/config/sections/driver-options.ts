import { Derived, literal, option, unset } from "../option.js";
import { boolean, choice, float, integer, list, text } from "../value-type.js";

const delay = (operation: string) => option(float({ min: 0 }), 0, `Seconds that ${operation} takes.`);

/** `[fake_libvirt]`; the driver checks the values once more against its own schema. */
export const FAKE_LIBVIRT_OPTIONS = {
  connection_uri: option(
    text,
    new Derived(
      "fake-libvirt://<state-dir>/hypervisors/$host",
      ({ stateDir }) => `fake-libvirt://${literal(stateDir)}/hypervisors/$host`,
    ),
    "Folder of the hypervisor, as fake-libvirt:///absolute/path. Its guests outlive the agent.",
    { source: "8.8" },
  ),
  hypervisor_hostname: unset(
    text,
    "Name of the hypervisor, stored in it when it is first used; unset takes the host of the agent that does so.",
  ),
  vcpus: option(integer({ min: 1 }), 8, "Processors of the hypervisor."),
  memory_mb: option(integer({ min: 1 }), 32_768, "Memory of the hypervisor in MB."),
  disk_gb: option(integer({ min: 0 }), 1_000, "Disk of the hypervisor in GB."),
  cpu_model: option(text, "Cascadelake-Server", "Processor model that the hypervisor reports."),
  cpu_dedicated_set: unset(text, "Processors for pinned guests, as 4-7,^6,12; they are no longer shared."),
  images_type: option(choice(["qcow2", "raw"]), "qcow2", "Format of the guests' disks."),
  instances_path: unset(text, "Folder of the guests' disks; unset keeps them in the hypervisor's folder."),
  shared_instances: option(boolean, false, "Whether instances_path is a folder that other hosts share.", {
    source: "3.3",
  }),
  devices: option(
    list,
    [],
    "Devices as <PCI address>=<resource class>[:<how many guests can use it>]; each is a child provider of the node.",
  ),
  nested_devices: option(boolean, true, "Whether devices are child providers; off makes them inventory of the node."),
  stop_event_delay: option(
    float({ min: 0 }),
    15,
    "Seconds before a guest that stopped is told of, so that a reboot does not look like a stop.",
    { source: "8.5" },
  ),
  delay_spawn: delay("creating a guest"),
  delay_destroy: delay("destroying a guest"),
  delay_power_on: delay("starting a guest"),
  delay_power_off: delay("stopping a guest"),
  delay_reboot: delay("rebooting a guest"),
  delay_pause: delay("pausing a guest"),
  delay_unpause: delay("unpausing a guest"),
  delay_suspend: delay("suspending a guest"),
  delay_resume: delay("resuming a guest"),
};

/** `[ironic]` */
export const IRONIC_OPTIONS = {
  endpoint_override: unset(text, "Address of Ironic, instead of the one in Identity's catalog."),
  auth_type: unset(choice(["password", "none"]), "How the agent authenticates; unset as none."),
  auth_url: unset(text, "Address of Identity, for auth_type = password."),
  username: unset(text, "User, for auth_type = password."),
  password: unset(text, "Password, for auth_type = password.", { secret: true }),
  project_name: unset(text, "Project that the token is for."),
  user_domain_name: unset(text, "Domain of the user; often Default."),
  project_domain_name: unset(text, "Domain of the project; often Default."),
  region_name: unset(text, "Region whose endpoint is taken from the catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Interfaces of endpoints, the first that is there is taken."),
  shard: unset(text, "Manage the nodes of this shard, alone."),
  conductor_group: unset(text, "Manage only nodes of this conductor group."),
  peer_list: option(list, [], "Hosts that share the nodes of the conductor group."),
  api_max_retries: option(integer({ min: 0 }), 60, "Polls of a node after the first before an operation has failed."),
  api_retry_interval: option(integer({ min: 0 }), 2, "Seconds between two polls."),
  status_code_retries: option(
    integer({ min: 0 }),
    5,
    "Further tries of a request that Ironic answers with 409 or 503.",
  ),
  status_code_retry_delay: option(float({ min: 0 }), 0.5, "Seconds before the first of them; doubled each time."),
};
