import { createPlacement } from "../../src/cluster/placement/service.js";
import { openStore } from "../../src/cluster/store/open-store.js";
import type { Store } from "../../src/cluster/store/store.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { RESOURCES, TINY } from "../unit/cluster/compute/api-world.js";

export interface Size {
  readonly hosts: number;
  readonly servers: number;
  /** Consumers that nobody knows. */
  readonly orphans: number;
}

const PROJECTS = 50;
/** Consumers a request. */
const BATCH = 200;
const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };

const uuidOf = (kind: number, n: number): string => `${kind}0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const ownerOf = (n: number): string => String(n % PROJECTS).padStart(32, "a");

const logger = (() => {
  const nothing = (): void => undefined;
  const quiet = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing, fatal: nothing };
  const self = { ...quiet, child: () => self };
  return self;
})();

/** Makes the state of record of a cloud of that size: hosts, their providers, servers and what they hold. */
export async function fillCloud(database: string, size: Size): Promise<void> {
  const runtime = createNodeRuntime({ logger });
  const store = await openStore({ path: database, runtime });
  try {
    store.transaction(() => fillStore(store, size));
    await fillPlacement(store, size);
  } finally {
    store.close();
    await runtime.http.close();
  }
}

function fillStore(store: Store, { hosts, servers }: Size): void {
  const flavor = store.flavors.create({ ...TINY, flavorid: "bench", name: "bench" });
  const nodes = Array.from({ length: hosts }, (_, n) => {
    const host = `host-${n}`;
    const { id } = store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
    return store.computeNodes.create({
      host,
      serviceId: id,
      uuid: uuidOf(1, n),
      hypervisorHostname: host,
      resources: RESOURCES,
    });
  });
  for (let n = 0; n < servers; n += 1) {
    const node = nodes[n % hosts];
    const projectId = ownerOf(n);
    store.mappings.mapInstance(uuidOf(2, n), projectId, "cell1");
    store.instances.create({
      uuid: uuidOf(2, n),
      projectId,
      userId: projectId,
      displayName: `vm${n}`,
      hostname: `vm${n}`,
      reservationId: "r-00000000",
      imageRef: "c0ffee00-0000-4000-8000-000000000001",
      flavor,
      host: node?.host ?? null,
      node: node?.hypervisorHostname ?? null,
      computeId: node?.id ?? null,
      launchedOn: node?.host ?? null,
      vmState: "active",
      taskState: null,
      powerState: 1,
    });
  }
}

async function fillPlacement(store: Store, { hosts, servers, orphans }: Size): Promise<void> {
  const { clock, random } = createNodeRuntime({ logger });
  const placement = createPlacement({ clock, random, logger, database: store.database.file });
  const ask = (method: string, path: string, body: unknown): void => {
    const headers = {
      "x-auth-token": "admin",
      "openstack-api-version": "placement 1.39",
      "content-type": "application/json",
    };
    const request = { method, path, query: "", headers, body: JSON.stringify(body), baseUrl: "" };
    const answer = placement.handle(request);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    }
  };
  const inventories = Object.fromEntries(
    Object.entries({ VCPU: RESOURCES.vcpus, MEMORY_MB: RESOURCES.memoryMb, DISK_GB: RESOURCES.localGb }).map(
      ([name, total]) => [name, { total, max_unit: total }],
    ),
  );
  for (let n = 0; n < hosts; n += 1) {
    const uuid = uuidOf(1, n);
    ask("POST", "/resource_providers", { uuid, name: `host-${n}` });
    ask("PUT", `/resource_providers/${uuid}/inventories`, { resource_provider_generation: 0, inventories });
    ask("PUT", `/resource_providers/${uuid}/traits`, { resource_provider_generation: 1, traits: ["COMPUTE_NODE"] });
  }
  const consumers = [
    ...Array.from({ length: servers }, (_, n) => ({ uuid: uuidOf(2, n), n })),
    ...Array.from({ length: orphans }, (_, n) => ({ uuid: uuidOf(3, n), n })),
  ];
  for (let from = 0; from < consumers.length; from += BATCH) {
    const bodies = consumers.slice(from, from + BATCH).map(({ uuid, n }) => [
      uuid,
      {
        allocations: { [uuidOf(1, n % hosts)]: { resources: NEED } },
        project_id: ownerOf(n),
        user_id: ownerOf(n),
        consumer_generation: null,
        consumer_type: "INSTANCE",
      },
    ]);
    ask("POST", "/allocations", Object.fromEntries(bodies));
  }
}
