import { beforeEach, describe, expect, it } from "vitest";
import type { Caller } from "../../../../../src/control-plane/conductor/dispatcher.js";
import type { HostSupervisor } from "../../../../../src/control-plane/conductor/host-controls.js";
import type { HostLeases } from "../../../../../src/control-plane/conductor/host-leases.js";
import { clusterMethods } from "../../../../../src/control-plane/conductor/methods/operator-methods.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { anInstance } from "../../../../fixtures/records.js";

const caller = { requestId: "req-1" } as Caller;
const UUID = "cccccccc-0000-4000-8000-000000000001";
let store: Store;

beforeEach(() => {
  store = emptyStore({ runtime: createVirtualRuntime() });
});

function methods(supervisor?: Pick<HostSupervisor, "stop">) {
  const describeHost = (host: string) => (host === "up" ? { connected: true } : { connected: false });
  const leases = { describe: describeHost } as unknown as HostLeases;
  return clusterMethods({
    store,
    leases,
    supervisor: supervisor as HostSupervisor | undefined,
    recorder: undefined,
    impersonations: undefined,
  });
}

function server(changes: object) {
  const { id: _id, ...columns } = anInstance({ uuid: UUID });
  store.instances.create({ ...columns, host: null, node: null, computeId: null, ...changes });
}

describe("pending work", () => {
  it("is empty in a cluster at rest, including unconfirmed moves", async () => {
    server({ taskState: null });
    store.migrations.create({ instanceUuid: UUID, migrationType: "resize", status: "finished" });
    store.migrations.create({ instanceUuid: UUID, migrationType: "resize", status: "error" });
    store.messages.enqueue({ host: "down", method: "stop_instance", params: "{}", requestId: "req-1" });
    expect(await methods().cluster_work({}, caller)).toEqual({ tasks: 0, messages: 0, servers: [], moves: [] });
  });

  it("lists work of the conductor, agents, servers and moves", async () => {
    server({ taskState: "resize_prep", displayName: "vm1" });
    store.migrations.create({ instanceUuid: UUID, migrationType: "resize", status: "pre-migrating" });
    store.messages.enqueue({ host: "up", method: "stop_instance", params: "{}", requestId: "req-1" });
    store.tasks.add({ kind: "delete_local", instanceUuid: UUID, requestId: "req-1" } as Parameters<
      Store["tasks"]["add"]
    >[0]);
    expect(await methods().cluster_work({}, caller)).toEqual({
      tasks: 1,
      messages: 1,
      servers: [{ uuid: UUID, displayName: "vm1", taskState: "resize_prep" }],
      moves: [{ type: "resize", status: "pre-migrating", instanceUuid: UUID }],
    });
  });
});

describe("stopping everything", () => {
  it("is done by `up`, and returns the pid to wait for", async () => {
    expect(await methods({ stop: async () => 4711 }).stop_cluster({}, caller)).toEqual({ pid: 4711 });
  });

  it("is rejected if `up` did not start the control plane", async () => {
    await expect(methods().stop_cluster({}, caller)).rejects.toThrow("not started by 'compute-agent up'");
  });
});
