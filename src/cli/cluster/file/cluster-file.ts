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
function faults(where: string) {
  return stringList(`Faults from the start, as compute-agent fault set takes them ${where}.`);
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
    reserved: amount("Of these, what nobody gets. Default 0."),
    min_unit: amount("Default 1.", 1),
    max_unit: amount("Default: Placement's.", 1),
    step_size: amount("Default 1.", 1),
    allocation_ratio: ratio("Default 1.0."),
  },
  "An inventory as in provider.yaml.",
);

const GROUP = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 500_000,
      description: `Names, as --host takes them: rack[01-20]-node[001-050] or a,b. Each: ${HOST_NAME_RULE}.`,
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_HOSTS,
        description: "So many hosts: the first of the names, or, of a name without brackets, name1 to nameN.",
      }),
    ),
    driver: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Virt driver: built-in name, npm package or path. Default: driver of the file.",
      }),
    ),
    release: Type.Optional(Type.Enum([...RELEASE_NAMES], { description: "Of the agents, as --release says." })),
    config_files: stringList("nova.conf of these hosts, in the place of the file's; paths are relative to this file."),
    options: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>>({
        type: "object",
        patternProperties: { "^[^.=\\s]+(\\.[^.=\\s]+)?$": { anyOf: [SCALAR, Type.Array(SCALAR)] } },
        additionalProperties: false,
        description:
          "Options, as -o takes them: section.option, or option of [DEFAULT]. A list gives it several times.",
      }),
    ),
    vcpus: amount("Host CPUs, where the driver can be told (fake-libvirt, qemu).", 1),
    memory_mb: amount("MiB, where the driver can be told.", 1),
    disk_gb: amount("GiB, where the driver can be told."),
    devices: stringList("Devices, where the driver knows any (fake-libvirt): 0000:81:00.0=VGPU:4."),
    delays: Type.Optional(
      record(
        "^[a-z_]+$",
        Type.Number({ minimum: 0, maximum: 86_400 }),
        "Seconds by operation, as fake-libvirt's delay_ options: spawn: 2.",
      ),
    ),
    allocation_ratios: Type.Optional(
      closed(
        { cpu: ratio("VCPU."), ram: ratio("MEMORY_MB."), disk: ratio("DISK_GB.") },
        "What the options cpu_allocation_ratio, ... say.",
      ),
    ),
    resources: Type.Optional(
      record(CUSTOM, INVENTORY, "Inventories of classes of your own, CUSTOM_..., of each host."),
    ),
    traits: Type.Optional(
      Type.Array(Type.String({ pattern: CUSTOM, maxLength: 255 }), {
        description: "Traits of your own, CUSTOM_..., of each host.",
      }),
    ),
    aggregates: stringList("Host aggregates of these hosts, by name; each is one of the file's aggregates."),
    availability_zone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Puts the hosts into the aggregate of this name, which has this zone.",
      }),
    ),
    faults: faults("for a host"),
  },
  "Hosts that are alike.",
);

/** Keys that correspond to a flag of `up`, with the same meaning. */
const UP_KEYS = {
  state_dir: Type.Optional(Type.String({ minLength: 1, description: "--state-dir; relative to this file." })),
  port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: "--port of the control plane." })),
  listen: Type.Optional(
    Type.String({ minLength: 1, description: "--listen: address[:port] for other machines, with TLS." }),
  ),
  listen_without_tls: flag("--listen-without-tls."),
  processes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_HOSTS,
      description: "--processes: agent processes that the hosts share.",
    }),
  ),
  hosts_per_process: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_HOSTS, description: "--hosts-per-process." }),
  ),
  driver: Type.Optional(Type.String({ minLength: 1, description: "--driver: of each group that names none." })),
  config_files: stringList(
    "--config-file of the control plane, and of groups that name none; relative to this file. [placement] of one names a real Placement.",
  ),
  allow_resize_to_same_host: flag("--allow-resize-to-same-host."),
  reclaim_instance_interval: Type.Optional(
    Type.Integer({ ...NUMBER, description: "--reclaim-instance-interval, seconds." }),
  ),
  service_delete_policy: Type.Optional(
    Type.Enum([...SERVICE_DELETE_POLICIES], { description: "--service-delete-policy. Default strict." }),
  ),
  log_requests: flag("--log-requests: a line in the control plane's log for each request."),
  log_format: Type.Optional(Type.Enum(["pretty", "json"], { description: "--log-format. Default pretty." })),
  remove: flag("--remove: hosts that this file leaves out are removed without a question, unless they have servers."),
  change_driver: flag("--change-driver: hosts may have another driver than before, while they have no servers."),
};

const IRONIC = closed(
  {
    nodes: Type.Integer({ minimum: 0, maximum: 100_000, description: "--ironic: so many emulated nodes." }),
    faults: faults("for ironic"),
  },
  "The embedded Ironic, and agent ironic1 that manages its nodes.",
);

/** The schema of a cluster file: published as JSON Schema, and used as the type. */
export const CLUSTER_FILE = Type.Object(
  {
    hosts: Type.Optional(
      Type.Array(GROUP, { maxItems: MAX_HOSTS, description: "The hosts, in groups. Absent: as --hosts says." }),
    ),
    ...UP_KEYS,
    ironic: Type.Optional(IRONIC),
    ...SEED_KEYS,
  },
  {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A cluster of compute-agent up --file",
  },
);

export type ClusterFile = Static<typeof CLUSTER_FILE>;
export type GroupText = Static<typeof GROUP>;
