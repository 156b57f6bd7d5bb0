import { quietLogger } from "../../../../src/cli/ui/logging.js";
import {
  createServiceDelete,
  type ServiceDeleteParts,
} from "../../../../src/control-plane/conductor/service-delete.js";
import { parseIsoTime } from "../../../../src/control-plane/http/times.js";
import type {
  Instance,
  MigrationStatus,
  MigrationType,
  PowerState,
  Service,
  TaskState,
  VmState,
} from "../../../../src/records/index.js";
import { ApiWorld, CIRROS, RESOURCES, TINY } from "./api-world.js";
import type { Body, RecordedCall } from "./recorded-calls.js";

const list = (body: Body | undefined, key: string): readonly Body[] => (body?.[key] ?? []) as readonly Body[];
const text = (value: unknown): string => String(value);
const textOrNull = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));
const time = (value: unknown): number => parseIsoTime(text(value)) ?? 0;

/** Creates a world with the state in which the call was recorded. */
export async function replayWorld(call: RecordedCall): Promise<ApiWorld> {
  const world = await ApiWorld.open();
  world.deleteService = createServiceDelete({
    store: world.store,
    placement: NO_PROVIDERS,
    policy: "upstream",
    logger: quietLogger,
  });
  const body = call.response_body as Body | undefined;
  makeFlavors(world, call, body);
  makeServices(world, call, body);
  makeServers(world, call, body);
  makeMigrations(world, call, body);
  return world;
}

function makeFlavors(world: ApiWorld, call: RecordedCall, body: Body | undefined): void {
  world.flavor();
  world.flavor({ flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 });
  const more = list(body, "flavors").some(({ id }) => id === "42") || /flavors\/(42|m1\.rec)/.test(call.path);
  if (more) {
    world.flavor({ ...TINY, flavorid: "42", name: "m1.rec", vcpus: 2, memoryMb: 1024, rootGb: 10 });
  }
}

/** Creates the listed services, else those of the recorded hypervisors, else three hosts. */
function makeServices(world: ApiWorld, call: RecordedCall, body: Body | undefined): void {
  const zones = list(body, "availabilityZoneInfo");
  const listed = [...list(body, "services"), ...(body?.service ? [body.service as Body] : [])];
  const hypervisors = [...list(body, "hypervisors"), ...(body?.hypervisor ? [body.hypervisor as Body] : [])];
  const statistics = body?.hypervisor_statistics as Body | undefined;
  makeZones(world, zones);
  for (const row of listed) {
    const before = call.method === "PUT" ? beforeUpdate(row, call.request_body as Body) : row;
    makeService(world, before, call.method === "PUT" ? (call.path.split("/").at(-1) ?? "") : text(row.id));
  }
  for (const row of hypervisors) {
    makeHypervisor(world, row);
  }
  if (statistics) {
    makeSum(world, statistics);
  }
  if (world.store.services.list().length === 0) {
    makeHosts(world, call);
  }
}

/** Creates nodes with the recorded sums: the first has them, the others have nothing where values differ. */
function makeSum(world: ApiWorld, sum: Body): void {
  const nothing = { memory_mb_used: 0, free_ram_mb: 0, free_disk_gb: 0 };
  for (let index = 0; index < Number(sum.count); index += 1) {
    const name = `host${index}`;
    const service = makeService(world, { host: name, binary: "nova-compute", state: "up" }, "");
    makeNode(world, service, { ...(index === 0 ? sum : nothing), hypervisor_hostname: name });
  }
}

function makeHosts(world: ApiWorld, call: RecordedCall): void {
  const downHost =
    JSON.stringify(call.request_body).includes("evacuate") || /devstack1|hypervisors\/1\//.test(call.path);
  for (const [index, host] of ["devstack1", "devstack3", "devstack2"].entries()) {
    const state = index === 0 && downHost ? "down" : "up";
    const service = makeService(world, { host, binary: "nova-compute", state }, "");
    makeNode(world, service, { hypervisor_hostname: host });
  }
}

function makeZones(world: ApiWorld, zones: readonly Body[]): void {
  for (const { hosts } of zones) {
    for (const [host, binaries] of Object.entries(hosts as Body)) {
      for (const [binary, serviceState] of Object.entries(binaries as Body)) {
        makeService(world, { host, binary, state: (serviceState as Body).available ? "up" : "down" }, "");
      }
    }
  }
}

function beforeUpdate(row: Body, { status, forced_down }: Body): Body {
  return {
    ...row,
    ...(status === undefined ? {} : { status: status === "enabled" ? "disabled" : "enabled" }),
    ...(forced_down === undefined ? {} : { forced_down: !forced_down }),
    state: "up",
  };
}

function makeService(world: ApiWorld, row: Body, uuid: string): Service {
  const { store } = world;
  const binary = text(row.binary);
  const topic = binary.replace("nova-", "");
  const { id } = store.services.create({ host: text(row.host), binary, topic, version: 73 });
  store.services.reportState(id);
  store.services.update(id, { disabled: row.status === "disabled", forcedDown: row.forced_down === true });
  if (uuid.includes("-")) {
    store.database.run("UPDATE services SET uuid = ? WHERE id = ?", uuid, id);
  }
  if (row.state === "down" && row.forced_down !== true) {
    store.database.run("UPDATE services SET last_seen_up = 0 WHERE id = ?", id);
  }
  const service = store.services.get(id);
  if (!service) {
    throw new Error("the service was not stored");
  }
  return service;
}

function makeHypervisor(world: ApiWorld, row: Body): void {
  const { host, id } = row.service as Body;
  const service = makeService(world, { host, binary: "nova-compute", state: row.state }, text(id));
  makeNode(world, service, row);
}

function makeNode(world: ApiWorld, service: Service, row: Body): void {
  const number = (name: string, otherwise: number): number => (typeof row[name] === "number" ? row[name] : otherwise);
  const cpuInfo = row.cpu_info ?? {};
  world.store.computeNodes.create({
    host: service.host,
    serviceId: service.id,
    uuid:
      typeof row.id === "string" ? row.id : (world.store.services.getByHost(service.host, "nova-compute")?.uuid ?? ""),
    hypervisorHostname: text(row.hypervisor_hostname),
    resources: {
      ...RESOURCES,
      vcpusUsed: number("vcpus_used", 0),
      memoryMbUsed: number("memory_mb_used", 512),
      localGbUsed: number("local_gb_used", 0),
      freeRamMb: number("free_ram_mb", 0),
      freeDiskGb: number("free_disk_gb", 0),
      runningVms: number("running_vms", 0),
      cpuInfo: typeof cpuInfo === "string" ? cpuInfo : JSON.stringify(cpuInfo),
    },
  });
}

function makeServers(world: ApiWorld, call: RecordedCall, body: Body | undefined): void {
  const serverRows =
    call.method === "GET" ? [...list(body, "servers"), ...(body?.server ? [body.server as Body] : [])] : [];
  // Lists are newest first.
  for (const row of serverRows.toReversed()) {
    makeServer(world, row);
  }
  const [, uuid] = /^\/v2\.1\/servers\/([0-9a-f-]{36})/.exec(call.path) ?? [];
  const missing = uuid !== undefined && serverRows.length === 0 && call.status !== 404;
  if (missing) {
    const ends = isObject(call.request_body) && ENDS_OF_RESIZES.some((name) => name in (call.request_body as Body));
    world.server("devstack1", { uuid, vmState: ends ? "resized" : "active" });
    if (ends) {
      makeFinishedMove(world, uuid);
    }
  }
  for (const migration of list(body, "migrations")) {
    const id = text(migration.instance_uuid);
    if (!world.store.instances.get(id)) {
      world.server(null, { uuid: id });
    }
  }
}

const ENDS_OF_RESIZES = ["confirmResize", "revertResize"];
const isObject = (value: unknown): value is Body => typeof value === "object" && value !== null;

/** Creates a move from devstack2 that waits for confirmation. */
function makeFinishedMove(world: ApiWorld, instanceUuid: string): void {
  world.store.migrations.create({
    instanceUuid,
    migrationType: "migration",
    status: "finished",
    changes: { sourceCompute: "devstack2", sourceNode: "devstack2", destCompute: "devstack1" },
  });
}

function makeServer(world: ApiWorld, row: Body): void {
  const attribute = (name: string): unknown => row[`OS-EXT-SRV-ATTR:${name}`];
  const host = textOrNull(attribute("host"));
  if (host !== null && row.host_status === "DOWN") {
    const service = world.store.services.getByHost(host, "nova-compute");
    if (service) {
      world.store.services.update(service.id, { forcedDown: true });
    }
  }
  const instance = world.server(host, {
    uuid: text(row.id),
    displayName: text(row.name),
    hostname: text(row.name),
    displayDescription: textOrNull(row.description),
    reservationId: text(attribute("reservation_id") ?? "r-00000000"),
    vmState: (row["OS-EXT-STS:vm_state"] ?? "active") as VmState,
    taskState: (row["OS-EXT-STS:task_state"] ?? null) as TaskState | null,
    powerState: (row["OS-EXT-STS:power_state"] ?? 1) as PowerState,
    launchedAt: row["OS-SRV-USG:launched_at"] ? time(row["OS-SRV-USG:launched_at"]) : null,
    imageRef: CIRROS,
  });
  if (attribute("instance_name") === "") {
    addBuildRequest(world, instance);
  }
}

function addBuildRequest({ store }: ApiWorld, instance: Instance): void {
  store.requests.createBuildRequest({ instanceUuid: instance.uuid, projectId: instance.projectId, instance });
}

function makeMigrations(world: ApiWorld, call: RecordedCall, body: Body | undefined): void {
  const rows = list(body, "migrations").toSorted((a, b) => Number(a.id) - Number(b.id));
  for (const row of rows) {
    const recorded = (name: string): string | null => textOrNull(row[name]);
    const { id } = world.store.migrations.create({
      instanceUuid: text(row.instance_uuid),
      migrationType: (row.migration_type ?? "migration") as MigrationType,
      status: "accepted",
      changes: {
        sourceCompute: recorded("source_compute"),
        sourceNode: recorded("source_node"),
        destCompute: recorded("dest_compute"),
        destHost: recorded("dest_host"),
        oldInstanceTypeId: row.old_instance_type_id as number | null,
        newInstanceTypeId: row.new_instance_type_id as number | null,
        userId: recorded("user_id"),
        projectId: recorded("project_id"),
      },
    });
    world.store.migrations.save(id, { status: row.status as MigrationStatus });
    world.store.database.run("UPDATE migrations SET dest_node = ? WHERE id = ?", recorded("dest_node"), id);
  }
  if (call.method === "DELETE" && call.status === 409) {
    makeUnconfirmed(world, call);
  }
}

function makeUnconfirmed(world: ApiWorld, call: RecordedCall): void {
  const { store } = world;
  const service = store.services.getByHost("devstack2", "nova-compute");
  store.database.run("UPDATE services SET uuid = ? WHERE id = ?", call.path.split("/").at(-1) ?? "", service?.id ?? 0);
  const { uuid } = world.server("devstack3", { vmState: "resized" });
  const changes = { sourceCompute: "devstack2", sourceNode: "devstack2" };
  store.migrations.create({ instanceUuid: uuid, migrationType: "migration", status: "finished", changes });
}

/** Service deletions in the recordings do not depend on Placement's contents. */
const NO_PROVIDERS: ServiceDeleteParts["placement"] = {
  beginPass: async () => {
    throw new Error("upstream's policy reads no provider");
  },
  getAllocationsForProvider: async () => ({ consumers: new Map(), generation: 0 }),
  removeProviderTreeFromInstanceAllocation: async () => false,
  deleteResourceProvider: async () => ({ remaining: [] }),
  aggregateAddHost: async () => undefined,
  aggregateRemoveHost: async () => undefined,
};
