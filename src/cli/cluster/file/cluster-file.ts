import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { SERVICE_DELETE_POLICIES } from "../../../control-plane/conductor/service-delete.js";
import { SEED_KEYS } from "../../../control-plane/seed/seed-schema.js";
import { HOST_NAME_RULE, MAX_HOSTS } from "../../../records/host-names.js";
import { RELEASE_NAMES } from "../../../records/index.js";

const NUMBER = { minimum: 0, maximum: 2 ** 31 - 1 };
/** Custom resource classes and traits; a provider.yaml accepts no others. */
const CUSTOM = "^CUSTOM_[A-Z0-9_]{1,248}$";

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}
const amount = (description: string, minimum = 0) => Type.Optional(Type.Integer({ ...NUMBER, minimum, description }));
function ratio(description: string) {
  return Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 10_000, description }));
}
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const stringList = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));
function faults(owner: string) {
  return stringList(`Faults ${owner} from the start, in the syntax of compute-agent fault set.`);
}
function record(key: string, value: TSchema, description: string) {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    patternProperties: { [key]: value },
    additionalProperties: false,
    description,
  });
}

const SCALAR = Type.Unsafe<string | number | boolean>({ type: ["string", "number", "boolean"] });

const INVENTORY = closed(
  {
    total: Type.Integer({ minimum: 1, maximum: NUMBER.maximum }),
    reserved: amount("Reserved amount of the total. Default 0."),
    min_unit: amount("Default 1.", 1),
    max_unit: amount("Default: that of Placement.", 1),
    step_size: amount("Default 1.", 1),
    allocation_ratio: ratio("Default 1.0."),
  },
  "Inventory, as in provider.yaml.",
);

const GROUP = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 500_000,
      description: `Host names, as for --host: rack[01-20]-node[001-050] or a,b. Each is ${HOST_NAME_RULE}.`,
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_HOSTS,
        description: "Number of hosts: the first of the names, or name1 to nameN for a name without brackets.",
      }),
    ),
    driver: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Virt driver: built-in name, npm package or path. Default: the driver of the file.",
      }),
    ),
    release: Type.Optional(Type.Enum([...RELEASE_NAMES], { description: "Release of the agents, as for --release." })),
    config_files: stringList(
      "nova.conf files of these hosts, instead of those of the file. Paths are relative to this file.",
    ),
    options: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>>({
        type: "object",
        patternProperties: { "^[^.=\\s]+(\\.[^.=\\s]+)?$": { anyOf: [SCALAR, Type.Array(SCALAR)] } },
        additionalProperties: false,
        description:
          "Options, as for -o: section.option, or option for [DEFAULT]. A list sets the option several times.",
      }),
    ),
    vcpus: amount("Number of host CPUs, if the driver has this option (fake-libvirt, qemu).", 1),
    memory_mb: amount("Memory in MiB, if the driver has this option.", 1),
    disk_gb: amount("Disk space in GiB, if the driver has this option."),
    devices: stringList("Host devices, if the driver has this option (fake-libvirt): 0000:81:00.0=VGPU:4."),
    delays: Type.Optional(
      record(
        "^[a-z_]+$",
        Type.Number({ minimum: 0, maximum: 86_400 }),
        "Durations in seconds by operation, as the options delay_* of fake-libvirt: spawn: 2.",
      ),
    ),
    allocation_ratios: Type.Optional(
      closed(
        {
          cpu: ratio("Allocation ratio of VCPU."),
          ram: ratio("Allocation ratio of MEMORY_MB."),
          disk: ratio("Allocation ratio of DISK_GB."),
        },
        "Allocation ratios, as the options cpu_allocation_ratio, ram_allocation_ratio and disk_allocation_ratio.",
      ),
    ),
    resources: Type.Optional(
      record(CUSTOM, INVENTORY, "Inventories of custom resource classes, CUSTOM_..., of each host."),
    ),
    traits: Type.Optional(
      Type.Array(Type.String({ pattern: CUSTOM, maxLength: 255 }), {
        description: "Custom traits, CUSTOM_..., of each host.",
      }),
    ),
    aggregates: stringList("Names of the host aggregates of these hosts. Each must be in aggregates of this file."),
    availability_zone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Availability zone. The hosts are added to an aggregate of this name with this zone.",
      }),
    ),
    faults: faults("of each host"),
  },
  "Hosts with the same settings.",
);

/** Keys that correspond to a flag of `up`, with the same meaning. */
const UP_KEYS = {
  state_dir: Type.Optional(
    Type.String({ minLength: 1, description: "--state-dir: state directory, relative to this file." }),
  ),
  port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: "--port: port of the control plane." })),
  listen: Type.Optional(
    Type.String({ minLength: 1, description: "--listen: address[:port] of a TLS listener for other machines." }),
  ),
  listen_without_tls: flag("--listen-without-tls: the listener does not use TLS."),
  processes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_HOSTS,
      description: "--processes: number of agent processes that the hosts share.",
    }),
  ),
  hosts_per_process: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_HOSTS,
      description: "--hosts-per-process: maximum number of hosts that share an agent process.",
    }),
  ),
  driver: Type.Optional(
    Type.String({ minLength: 1, description: "--driver: virt driver of groups without a driver." }),
  ),
  config_files: stringList(
    "--config-file: nova.conf files of the control plane, and of groups without config_files, relative to this " +
      "file. [placement] in one of them selects a real Placement.",
  ),
  allow_resize_to_same_host: flag("--allow-resize-to-same-host: resizes to the same host are allowed."),
  reclaim_instance_interval: Type.Optional(
    Type.Integer({
      ...NUMBER,
      description: "--reclaim-instance-interval: seconds during which deleted servers can be restored.",
    }),
  ),
  service_delete_policy: Type.Optional(
    Type.Enum([...SERVICE_DELETE_POLICIES], {
      description:
        "--service-delete-policy: policy for deleting a compute service whose provider has allocations. Default strict.",
    }),
  ),
  log_requests: flag("--log-requests: one line per request in the control plane's log."),
  log_format: Type.Optional(
    Type.Enum(["pretty", "json"], { description: "--log-format: format of all logs. Default pretty." }),
  ),
  remove: flag("--remove: remove hosts that are not in this file without confirmation, unless they have servers."),
  change_driver: flag("--change-driver: hosts can change their driver while they have no servers."),
};

const IRONIC = closed(
  {
    nodes: Type.Integer({ minimum: 0, maximum: 100_000, description: "--ironic: number of emulated nodes." }),
    faults: faults("of the embedded Ironic"),
  },
  "Embedded Ironic, and the agent ironic1 that manages its nodes.",
);

/** The schema of a cluster file: published as JSON Schema, and used as the type. */
export const CLUSTER_FILE = Type.Object(
  {
    hosts: Type.Optional(
      Type.Array(GROUP, { maxItems: MAX_HOSTS, description: "Hosts, in groups. Default: as --hosts." }),
    ),
    ...UP_KEYS,
    ironic: Type.Optional(IRONIC),
    ...SEED_KEYS,
  },
  {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Cluster file of compute-agent up --file",
  },
);

export type ClusterFile = Static<typeof CLUSTER_FILE>;
export type GroupText = Static<typeof GROUP>;
