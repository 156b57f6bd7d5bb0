import { beforeEach, describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { Caller } from "../../../../../src/control-plane/conductor/dispatcher.js";
import { operatorMethods } from "../../../../../src/control-plane/conductor/methods/operator-methods.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { NO_PORT_ALLOCATIONS } from "../../../../fixtures/no-port-resources.js";
import { anInstance, nodeResources } from "../../../../fixtures/records.js";

const caller = { requestId: "req-1" } as Caller;
const NODE = "00000000-0000-4000-8000-000000000001";
const instance = (last: number) => `cccccccc-0000-4000-8000-00000000000${last}`;

let runtime: ReturnType<typeof createVirtualRuntime>;
let store: Store;
let methods: ReturnType<typeof operatorMethods>;

beforeEach(() => {
  runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  methods = operatorMethods(store, runtime.clock, NO_PORT_ALLOCATIONS);
});

function server(uuid: string, placed: object = { host: null, node: null, computeId: null }) {
  const { id: _id, ...columns } = anInstance({ uuid });
  return store.instances.create({ ...columns, ...placed });
}

describe("queries of commands", () => {
  it("the cell of an instance; null for an unknown one", () => {
    store.mappings.mapInstance(instance(1), "p", "cell0");
    expect([1, 2].map((last) => methods.instance_mapping({ uuid: instance(last) }, caller))).toEqual(["cell0", null]);
  });

  it("the instances of the cell, oldest first", async () => {
    for (const [last, cell] of [
      [3, "cell1"],
      [1, "cell0"],
      [2, "cell1"],
      [4, null],
    ] as const) {
      await runtime.advance(10);
      server(instance(last));
      if (cell) {
        store.mappings.mapInstance(instance(last), "p", cell);
      }
    }
    expect(methods.instances_of_cell({}, caller)).toEqual([instance(3), instance(2)]);
  });

  it("consumers under way: a migration counts for a minute after its end", async () => {
    server(instance(1));
    const { id, uuid } = store.migrations.create({
      instanceUuid: instance(1),
      migrationType: "migration",
      status: "pre-migrating",
    });
    store.migrations.save(id, { status: "error" });
    const underWay = () => methods.consumers_under_way({ uuids: [uuid] }, caller);
    await runtime.advance(59_999);
    expect(underWay()).toEqual([uuid]);
    await runtime.advance(2);
    expect(underWay()).toEqual([]);
  });

  it("aggregates by uuid and name with their hosts, and whether a host is mapped", () => {
    store.services.create({ host: "h", binary: "nova-compute", topic: "compute", version: 73 });
    const { id, uuid } = store.aggregates.create({ name: "one", metadata: { a: "b" } });
    store.aggregates.addHost(id, "h");
    expect(methods.host_aggregates({}, caller)).toEqual([{ uuid, name: "one", hosts: ["h"] }]);
    expect(methods.host_mapping({ host: "h" }, caller)).toBe(false);
    const [service] = store.services.list();
    const node = { host: "h", serviceId: service?.id ?? 0, uuid: NODE, hypervisorHostname: "n" };
    store.computeNodes.create({ ...node, resources: nodeResources() });
    expect(methods.host_mapping({ host: "h" }, caller)).toBe(true);
  });
});

describe("7.6 ironic-compute-node-move", () => {
  const move = (node: string = NODE, host = "d") => methods.ironic_compute_node_move({ node, host }, caller);
  let computeId: number;

  beforeEach(() => {
    const [source, destination] = ["s", "d"].map((host) =>
      store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 }),
    );
    const node = { host: "s", serviceId: source?.id ?? 0, uuid: NODE, hypervisorHostname: "n" };
    ({ id: computeId } = store.computeNodes.create({ ...node, resources: nodeResources() }));
    store.services.update(source?.id ?? 0, { forcedDown: true });
    expect(destination?.host).toBe("d");
  });
  const service = (host: string) => store.services.getByHost(host, "nova-compute") ?? expect.fail("no service");

  it("moves the node with its instance to the other host and its service", () => {
    server(instance(1), { host: "s", node: "n", computeId });
    expect(move()).toBeNull();
    expect(store.computeNodes.getByUuid(NODE)).toMatchObject({ host: "d", serviceId: service("d").id });
    expect(store.instances.get(instance(1))).toMatchObject({ host: "d", node: "n", computeId });
  });

  it("moves a node without instances", () => {
    move();
    expect(store.computeNodes.getByUuid(NODE)).toMatchObject({ host: "d" });
  });

  it("refuses a host or a node that is not known", () => {
    expect(() => move(NODE, "x")).toThrow(
      new ConductorError("ComputeHostNotFound", "Compute host x could not be found.", { host: "x" }),
    );
    const unknown = instance(1);
    expect(() => move(unknown)).toThrow(
      new ConductorError("ComputeHostNotFound", `Compute host ${unknown} could not be found.`, { uuid: unknown }),
    );
  });

  it.each<[string, () => unknown, string, string]>([
    [
      "a destination that is forced down",
      () => {
        store.services.update(service("d").id, { forcedDown: true });
      },
      "ConductorError",
      "Destination compute is forced down!",
    ],
    [
      "a source that is not",
      () => {
        store.services.update(service("s").id, { forcedDown: false });
      },
      "ConductorError",
      "Source service is not yet forced down!",
    ],
    [
      "a node without its service",
      () => {
        store.database.run("UPDATE compute_nodes SET service_id = NULL");
      },
      "ServiceNotFound",
      "Service null could not be found.",
    ],
    [
      "two instances",
      () => {
        server(instance(1), { host: "s", node: "n", computeId });
        server(instance(2), { host: "s", node: "n", computeId });
      },
      "ConductorError",
      "Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node.",
    ],
  ])("refuses %s, and moves nothing", (_what, spoils, kind, message) => {
    spoils();
    expect(() => move()).toThrow(expect.objectContaining({ code: kind }));
    expect(() => move()).toThrow(message);
    expect(store.computeNodes.getByUuid(NODE)?.host).toBe("s");
  });
});
