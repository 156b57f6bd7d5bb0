import type { DashboardAction, DashboardHello, DashboardRow } from "../../../src/dashboard/wire/messages.js";
import type {
  ConsumerType,
  HostRow,
  InventoryRow,
  PortRow,
  ProviderRow,
  ServerLife,
  ServerRow,
} from "../../../src/dashboard/wire/rows.js";

/** Time at which the cluster's history begins. */
export const START = Date.UTC(2026, 0, 15, 9, 0, 0);

function hex(kind: number, index: number): string {
  return `${(kind * 0x10000 + index).toString(16).padStart(8, "0")}-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
}

export const serverUuid = (index: number): string => hex(0x5e, index);
export const portUuid = (server: number): string => hex(0x90, server);
export const networkUuid = (index: number): string => hex(0x2e, index);
export const providerUuid = (host: number): string => hex(0xa0, host);
export function hostName(index: number): string {
  return `rack${String(Math.floor(index / 50) + 1).padStart(2, "0")}-node${String((index % 50) + 1).padStart(3, "0")}`;
}

export interface ClusterSize {
  readonly hosts: number;
  readonly servers: number;
}

/**
 * Generates the rows of a cluster of any size, deterministically. Some hosts are down, disabled, faulty or have stale
 * allocations.
 */
export function* rowsOf({ hosts, servers }: ClusterSize, now: number): Generator<DashboardRow> {
  yield {
    kind: "traits",
    key: "t1",
    value: ["COMPUTE_NODE", "COMPUTE_VOLUME_ATTACH", "HW_CPU_X86_AVX2", "CUSTOM_GOLD"],
  };
  yield { kind: "flavor", key: "1", value: { name: "m1.tiny", vcpus: 1, memoryMb: 512, diskGb: 1 } };
  yield { kind: "flavor", key: "2", value: { name: "m1.small", vcpus: 1, memoryMb: 2048, diskGb: 20 } };
  yield* networkRows();
  const each = Math.ceil(servers / hosts);
  for (let index = 0; index < hosts; index++) {
    const from = Math.min(index * each, servers);
    const to = Math.min(from + each, servers);
    yield* hostRows(index, to - from, now);
    for (let server = from; server < to; server++) {
      yield { kind: "server", key: serverUuid(server), value: serverRow(server, index) };
      yield { kind: "port", key: portUuid(server), value: portRow(server, index) };
      yield {
        kind: "consumer",
        key: serverUuid(server),
        value: {
          uuid: serverUuid(server),
          type: "server",
          server: serverUuid(server),
          placementType: "INSTANCE",
          generation: 1,
          projectId: "demo",
          userId: "ada",
          held: { [providerUuid(index)]: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } },
        },
      };
    }
    yield {
      kind: "guests",
      key: hostName(index),
      value: {
        at: now,
        from: "folder",
        guests: Array.from({ length: to - from }, (_, guest) => ({
          uuid: serverUuid(from + guest),
          name: `instance-${(from + guest).toString(16).padStart(8, "0")}`,
          state: "running",
        })),
      },
    };
    if (index % 97 === 3) {
      yield* staleGuest(index);
    }
  }
}

function* hostRows(index: number, servers: number, now: number): Generator<DashboardRow> {
  yield { kind: "host", key: hostName(index), value: hostRow(index) };
  const dead = isDead(index);
  yield { kind: "heartbeat", key: hostName(index), value: now - (dead ? 340_000 : (index % 9) * 1_000) };
  yield { kind: "provider", key: providerUuid(index), value: providerRow(index, servers) };
}

const isDead = (index: number): boolean => index % 97 === 3;

export function hostRow(index: number): HostRow {
  const dead = isDead(index);
  return {
    host: hostName(index),
    state: dead ? "down" : "up",
    registered: true,
    enabled: index % 41 !== 5,
    reason: dead ? "The agent was killed by signal 9" : index % 41 === 5 ? "maintenance: new fans on Thursday" : "",
    forcedDown: dead,
    agent: dead ? "killed" : "serving",
    zone: index % 2 === 0 ? "east" : "west",
    aggregates: index % 10 === 0 ? ["gold"] : [],
    nodes: [providerUuid(index)],
    faults: index % 61 === 2 ? ["driver.spawn=fail:once"] : [],
    version: 68,
    release: "epoxy",
  };
}

function* networkRows(): Generator<DashboardRow> {
  const network = { projectId: "demo", status: "ACTIVE", adminUp: true, mtu: 1450, external: false, shared: false };
  const subnet = (index: number, cidr: string, gateway: string) => ({
    uuid: hex(0x2f, index),
    name: `subnet${index}`,
    cidr,
    gateway,
    dhcp: index > 0,
  });
  const networks = [
    { name: "public", external: true, segments: ["flat public"], subnets: [subnet(0, "172.24.4.0/24", "172.24.4.1")] },
    {
      name: "private",
      segments: ["vxlan 2"],
      subnets: [subnet(1, "10.0.0.0/8", "10.0.0.1"), subnet(2, "fd12:3456:789a::/64", "fd12:3456:789a::1")],
    },
    { name: "racks", shared: true, segments: ["vlan physnet1 107"], subnets: [] },
  ];
  for (const [index, one] of networks.entries()) {
    const uuid = networkUuid(index);
    yield { kind: "network", key: uuid, value: { ...network, uuid, ...one } };
  }
  const uuid = hex(0x2d, 0);
  const router = { name: "router1", projectId: "demo", status: "ACTIVE", adminUp: true };
  const gateways = [{ network: networkUuid(0), address: "172.24.4.17" }];
  const interfaces = [
    { network: networkUuid(1), address: "10.0.0.1" },
    { network: networkUuid(1), address: "fd12:3456:789a::1" },
  ];
  yield { kind: "router", key: uuid, value: { uuid, ...router, gateways, interfaces } };
}

/** Returns the port of a server. The fourth's binding failed, and the sixth is in a live migration. */
export function portRow(server: number, host: number): PortRow {
  const isFailed = server === 3;
  const binding = { host: hostName(host), vifType: isFailed ? "binding_failed" : "ovs", active: true };
  const inactive = { host: hostName(host + 1), vifType: "ovs", active: false };
  return {
    uuid: portUuid(server),
    name: "",
    network: networkUuid(1),
    mac: `fa:16:3e:00:${(server >> 8).toString(16).padStart(2, "0")}:${(server & 255).toString(16).padStart(2, "0")}`,
    adminUp: true,
    status: isFailed ? "DOWN" : "ACTIVE",
    server: serverUuid(server),
    owner: "compute:nova",
    device: serverUuid(server),
    addresses: [`10.${server >> 16}.${(server >> 8) & 255}.${server & 255}`],
    floatingIps: server === 12 ? ["172.24.4.80"] : [],
    bindings: server === 5 ? [binding, inactive] : [binding],
  };
}

export function serverRow(index: number, host: number): ServerRow {
  return {
    uuid: serverUuid(index),
    name: `vm${index + 1}`,
    status: "ACTIVE",
    vmState: "active",
    taskState: null,
    power: "running",
    host: hostName(host),
    node: hostName(host),
    flavor: "m1.tiny",
    vcpus: 1,
    memoryMb: 512,
    diskGb: 1,
    projectId: "demo",
    createdAt: START,
    updatedAt: START + 2_000,
    fault: null,
    requestId: null,
  };
}

function inventory(total: number, reserved: number, ratio: number, used: Record<ConsumerType, number>): InventoryRow {
  return { total, reserved, ratio, min: 1, max: total, step: 1, used };
}

export function providerRow(index: number, servers: number): ProviderRow {
  const stale = isDead(index) ? 2 : 0;
  const migration = index % 13 === 1 ? 1 : 0;
  const used = (each: number) => ({ server: servers * each, migration: migration * each, stale: stale * each });
  return {
    uuid: providerUuid(index),
    name: hostName(index),
    generation: 4 + (index % 20),
    parent: null,
    root: providerUuid(index),
    host: hostName(index),
    inventory: {
      VCPU: inventory(16, 0, 4, used(1)),
      MEMORY_MB: inventory(32_768, 512, 1, used(512)),
      DISK_GB: inventory(200, 0, 1, used(1)),
    },
    traits: "t1",
    aggregates: index % 10 === 0 ? [hex(0xa9, 1)] : [],
  };
}

function* staleGuest(index: number): Generator<DashboardRow> {
  const uuid = hex(0x5a, index);
  yield {
    kind: "consumer",
    key: uuid,
    value: {
      uuid,
      type: "stale",
      server: null,
      placementType: "INSTANCE",
      generation: 3,
      projectId: "demo",
      userId: "ada",
      held: { [providerUuid(index)]: { VCPU: 2, MEMORY_MB: 1024, DISK_GB: 2 } },
    },
  };
  yield {
    kind: "finding",
    key: `stale-allocation/${uuid}`,
    value: {
      code: "stale-allocation",
      text: `consumer ${uuid} has 2 VCPU, 1024 MEMORY_MB, 2 DISK_GB allocated, but no server and no migration has this uuid`,
      explanation: "Placement counts these resources as used, although nothing uses them.",
      commands: ["compute-agent audit --plan plan.json", `compute-agent apply plan.json --only ${uuid}`],
      host: hostName(index),
      server: null,
      consumer: uuid,
      provider: providerUuid(index),
    },
  };
  yield {
    kind: "edit",
    key: uuid,
    value: {
      findings: ["orphaned-consumer"],
      reason: "no server and no migration has this uuid, and it holds 2 VCPU, 1024 MEMORY_MB, 2 DISK_GB",
      does: `remove all allocations of ${uuid}`,
      subject: uuid,
    },
  };
}

export function hello(now: number, actions: readonly DashboardAction[] = ACTIONS): DashboardHello {
  return {
    secret: "a secret of the page",
    reset: true,
    at: now,
    name: "generated",
    version: "0.1.0",
    placementElsewhere: false,
    serviceDownTime: 60,
    actions,
    faultPoints: ["driver.spawn", "driver.destroy", "placement.put_allocations"],
    readOnly: actions.length === 0,
  };
}

const HOST = { name: "host", label: "Host", type: "host", required: true } as const;
const SERVER = { name: "server", label: "Server", type: "server", required: true } as const;

/** A few actions that cover each kind of field. */
export const ACTIONS: readonly DashboardAction[] = [
  {
    name: "create",
    label: "Create server",
    summary: "Creates a server on the selected host, or on one that the scheduler selects.",
    subject: "cluster",
    destructive: false,
    fields: [
      { name: "name", label: "Name", type: "text", required: true },
      { name: "flavor", label: "Flavor", type: "flavor", required: true },
      { name: "image", label: "Image", type: "image", required: true },
      { name: "network", label: "Network", type: "network", required: false },
      { name: "zone", label: "Availability zone", type: "zone", required: false },
      { name: "dest", label: "Host", type: "host", required: false },
    ],
    commands: [
      "openstack server create --flavor {flavor} --image {image} [--network {network}] [--availability-zone {zone}] [--host {dest}] {name}",
    ],
  },
  {
    name: "host-kill",
    label: "Kill",
    summary: "Ends the agent at once, as kill -9 does. Its guests keep running.",
    subject: "host",
    destructive: true,
    requires: { agent: "running" },
    fields: [HOST],
    commands: ["compute-agent host kill {host}"],
  },
  {
    name: "host-start",
    label: "Start",
    summary: "Starts the host's agent, and waits until it serves.",
    subject: "host",
    destructive: false,
    requires: { agent: "stopped" },
    fields: [HOST],
    commands: ["compute-agent host start {host}"],
  },
  {
    name: "fault-set",
    label: "Set fault",
    summary: "Makes the agent's driver, Placement or conductor fail.",
    subject: "host",
    destructive: false,
    fields: [HOST, { name: "fault", label: "Fault", type: "fault", required: true }],
    commands: ["compute-agent fault set {host} {fault}"],
  },
  {
    name: "server-evacuate",
    label: "Evacuate",
    summary: "Builds the server again on another host, since its own is down.",
    subject: "server",
    destructive: false,
    requires: { vmStates: ["active", "stopped", "error"], service: "down" },
    fields: [SERVER, { name: "dest", label: "Destination host", type: "host", required: false }],
    commands: ["openstack server evacuate [--host {dest}] {server}"],
  },
  {
    name: "server-resize",
    label: "Resize",
    summary: "Gives the server another flavor, here or on another host.",
    subject: "server",
    destructive: false,
    fields: [SERVER, { name: "flavor", label: "Flavor", type: "flavor", required: true }],
    commands: ["openstack server resize --flavor {flavor} {server}"],
  },
  {
    name: "apply",
    label: "Apply",
    summary: "Applies the plan of the last audit.",
    subject: "finding",
    destructive: true,
    fields: [{ name: "only", label: "Only this consumer or provider", type: "text", required: false }],
    commands: ["compute-agent apply plan.json [--only {only}]"],
  },
];

/** Returns the history of a server that was built, evacuated, and then resized. */
export function lifeOf(server: ServerRow): ServerLife {
  const [from, to] = [providerUuid(3), providerUuid(4)];
  const resources = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
  const migration = hex(0x31, 1);
  const consumer = (uuid: string, type: ConsumerType, held: ServerLife["consumers"][number]["held"]) => ({
    uuid,
    type,
    server: server.uuid,
    placementType: "INSTANCE",
    generation: 2,
    projectId: "demo",
    userId: "ada",
    held,
  });
  const event = (name: string, at: number, took: number | null, host: string, failed = false) => ({
    event: name,
    startedAt: START + at,
    finishedAt: took === null ? null : START + at + took,
    result: took === null ? null : failed ? ("Error" as const) : ("Success" as const),
    host,
    details: failed ? "Build of instance aborted: the image has no kernel" : null,
  });
  const action = (
    name: string,
    at: number,
    took: number,
    events: readonly ReturnType<typeof event>[],
    message: string | null = null,
  ) => ({
    action: name,
    requestId: `req-${hex(0x4e, at)}`,
    startedAt: START + at,
    finishedAt: START + at + took,
    message,
    events,
  });
  return {
    server,
    deletedAt: null,
    actions: [
      action("create", 0, 1_900, [
        event("conductor_schedule_and_build_instances", 20, 90, "control-plane"),
        event("compute__do_build_and_run_instance", 130, 1_700, hostName(3)),
      ]),
      action("evacuate", 900_000, 2_500, [event("compute_rebuild_instance", 900_200, 2_200, hostName(4))]),
      action("resize", 3_900_000, 700, [event("compute_prep_resize", 3_900_100, 500, hostName(5), true)], "Error"),
      action("resize", 4_000_000, 1_800, [
        event("compute_prep_resize", 4_000_100, 300, hostName(5)),
        event("compute_resize_instance", 4_000_450, 500, hostName(4)),
        event("compute_finish_resize", 4_001_000, 700, hostName(5)),
      ]),
    ],
    migrations: [
      {
        uuid: hex(0x31, 0),
        id: 1,
        server: server.uuid,
        type: "evacuation",
        status: "completed",
        source: hostName(3),
        dest: hostName(4),
        oldFlavor: "m1.tiny",
        newFlavor: "m1.tiny",
        progress: null,
        createdAt: START + 900_000,
        updatedAt: START + 960_000,
      },
      {
        uuid: migration,
        id: 2,
        server: server.uuid,
        type: "resize",
        status: "finished",
        source: hostName(4),
        dest: hostName(5),
        oldFlavor: "m1.tiny",
        newFlavor: "m1.small",
        progress: null,
        createdAt: START + 4_000_000,
        updatedAt: START + 4_001_800,
      },
    ],
    faults: [],
    hosts: [
      { host: hostName(3), from: START + 130, to: START + 900_200 },
      { host: hostName(4), from: START + 900_200, to: START + 4_001_000 },
      { host: hostName(5), from: START + 4_001_000, to: null },
    ],
    consumers: [],
    history: [
      { at: START + 100, consumer: consumer(server.uuid, "server", { [from]: resources }) },
      { at: START + 900_100, consumer: consumer(server.uuid, "server", { [from]: resources, [to]: resources }) },
      { at: START + 960_000, consumer: consumer(server.uuid, "server", { [to]: resources }) },
      { at: START + 4_000_050, consumer: consumer(migration, "migration", { [to]: resources }) },
      {
        at: START + 4_000_050,
        consumer: consumer(server.uuid, "server", { [providerUuid(5)]: { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 } }),
      },
    ],
    observedSince: START,
    states: [
      { at: START, vmState: "building", taskState: "scheduling", host: null, requestId: null },
      { at: START + 200, vmState: "building", taskState: "spawning", host: hostName(3), requestId: null },
      { at: START + 1_900, vmState: "active", taskState: null, host: hostName(3), requestId: null },
      { at: START + 900_050, vmState: "active", taskState: "rebuilding", host: hostName(3), requestId: null },
      { at: START + 901_000, vmState: "active", taskState: "rebuild_spawning", host: hostName(4), requestId: null },
      { at: START + 902_400, vmState: "active", taskState: null, host: hostName(4), requestId: null },
      { at: START + 4_000_050, vmState: "active", taskState: "resize_prep", host: hostName(4), requestId: null },
      { at: START + 4_000_450, vmState: "active", taskState: "resize_migrating", host: hostName(4), requestId: null },
      { at: START + 4_001_000, vmState: "active", taskState: "resize_finish", host: hostName(5), requestId: null },
      { at: START + 4_001_800, vmState: "resized", taskState: null, host: hostName(5), requestId: null },
    ],
  };
}
