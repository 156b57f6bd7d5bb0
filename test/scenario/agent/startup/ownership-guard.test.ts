import { expect, test } from "vitest";
import { RELEASES } from "../../../../src/config/quirks.js";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { evacuated, statusOf } from "../../../unit/agent/support/evacuated.js";
import { Harness } from "../../../unit/agent/support/harness.js";
import { Hypervisor } from "../../../unit/agent/support/hypervisor.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** Creates devstack1, in service with one guest. */
async function devstack1(harness: Harness) {
  const { node, service } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  await harness.allocate(VM, node);
  return { node, service };
}

function untouched(harness: Harness): void {
  expect(harness.hypervisor("devstack1").guests.get(VM)).toEqual({ power: 1 });
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", deleted: 0 });
}

scenario("2.4 G1 a plain restart starts", async (harness) => {
  await devstack1(harness);
  const run = await harness.start("devstack1");
  expect(run.agent.state).toBe("serving");
  untouched(harness);
});

scenario("2.4 G2 another host value with the same state and hypervisor is refused (d)", async (harness) => {
  const { node } = await devstack1(harness);
  const rejection = await harness.expectRejection("devstack2", {
    statePath: "/state/devstack1",
    hypervisor: harness.hypervisor("devstack1"),
  });
  expect(rejection).toMatchObject({ code: "node-of-other-host", error: "InvalidConfiguration" });
  expect(rejection.message).toContain(
    `My node ${node.uuid} has host 'devstack1' but my host is 'devstack2'. Possible rename detected: compute_id file /state/devstack1/compute_id contains that uuid, which is recorded with hypervisor_hostname devstack1`,
  );
  expect(rejection.hint).toContain("--host devstack1");
  expect(harness.store.services.getByHost("devstack2", "nova-compute")).toBeNull();
  untouched(harness);
});

scenario("2.4 G3 a renamed hypervisor is refused (c)", async (harness) => {
  const { node } = await devstack1(harness);
  harness.hypervisor("devstack1").name = "renamed";
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection.code).toBe("hypervisor-renamed");
  expect(rejection.message).toContain(
    "has hypervisor_hostname devstack1 but virt driver reports it should be renamed. Possible rename detected",
  );
  expect(rejection.records).toEqual({ compute_id: node.uuid, compute_node: "devstack1", hypervisor: "renamed" });
  untouched(harness);
});

for (const guests of ["with guests", "empty"]) {
  const id = guests === "empty" ? "G5" : "G4";
  scenario(
    `2.4 ${id} a passive agent with its own state on the same hypervisor, ${guests}, is refused (f)`,
    async (harness) => {
      await devstack1(harness);
      const hypervisor = harness.hypervisor("devstack1");
      if (guests === "empty") {
        hypervisor.guests.clear();
      }
      const before = [...hypervisor.guests];
      const rejection = await harness.expectRejection("standby", { hypervisor });
      expect(rejection.code).toBe("hypervisor-of-other-host");
      expect(rejection.message).toContain("with that hypervisor_hostname");
      expect(rejection.message).toContain("is recorded for host devstack1, this agent is standby");
      expect([...hypervisor.guests]).toEqual(before);
      expect(await harness.read("/state/standby/compute_id")).toBeUndefined();
      expect(harness.store.services.getByHost("standby", "nova-compute")).toBeNull();
    },
  );
}

scenario(
  "2.4 G5 upstream starts, and has a second compute node for the hypervisor",
  async (harness) => {
    await devstack1(harness);
    const hypervisor = harness.hypervisor("devstack1");
    hypervisor.guests.clear();
    const run = await harness.start("standby", { hypervisor, config: { quirks: ["adopt-foreign-hypervisor"] } });
    expect(run.agent.state).toBe("serving");
    expect(harness.store.computeNodes.byHypervisorHostname("devstack1").map(({ host }) => host)).toEqual([
      "devstack1",
      "standby",
    ]);
    expect(await harness.providers()).toEqual(["devstack1"]);
  },
  ["V7"],
);

scenario("2.4 G4 upstream refuses too, because a new host has no guests", async (harness) => {
  await devstack1(harness);
  const rejection = await harness.expectRejection("standby", {
    hypervisor: harness.hypervisor("devstack1"),
    config: { quirks: ["adopt-foreign-hypervisor"] },
  });
  expect(rejection.code).toBe("guests-on-new-host");
  expect(rejection.message).toContain(
    "My hypervisor has existing instances, but I appear to be a new service in this database",
  );
  untouched(harness);
});

scenario("2.4 G6 a second agent with the same host and state is refused; the first serves on", async (harness) => {
  await devstack1(harness);
  const first = await harness.start("devstack1");
  const rejection = await harness.expectRejection("devstack1", { process: "another" });
  expect(rejection).toMatchObject({ code: "host-lease-held", error: "HostLeaseHeld" });
  expect(rejection.message).toContain("another agent acts for host devstack1");
  expect(first.agent.state).toBe("serving");
  expect(harness.controlPlane.conductor.bus.serves("devstack1")).toBe(true);
  untouched(harness);
});

scenario("2.4 G6 upstream lets two agents share one host", async (harness) => {
  await devstack1(harness);
  const config = { quirks: ["no-host-lease"] as const };
  const first = await harness.start("devstack1", { config });
  const second = await harness.start("devstack1", { config, process: "another" });
  expect([first.agent.state, second.agent.state]).toEqual(["serving", "serving"]);
});

scenario("2.4 G7 a lost compute_id is refused", async (harness) => {
  const { node } = await devstack1(harness);
  const rejection = await harness.expectRejection("devstack1", { statePath: "/state/elsewhere" });
  expect(rejection.code).toBe("identity-lost");
  expect(rejection.message).toContain("No local node identity found, but this is not our first startup on this host");
  expect(rejection.hint).toContain(`write ${node.uuid} to /state/elsewhere/compute_id`);
  expect(await harness.read("/state/elsewhere/compute_id")).toBeUndefined();
  untouched(harness);
});

for (const inService of [true, false]) {
  scenario(
    `2.4 G8 a compute_id cloned from another host is refused (${inService ? "in service" : "new"} host)`,
    async (harness) => {
      const { node } = await devstack1(harness);
      if (inService) {
        await harness.seed("devstack2");
      }
      await harness.write("/state/devstack2/compute_id", node.uuid);
      const rejection = await harness.expectRejection("devstack2");
      expect(rejection.code).toBe("hypervisor-renamed");
      expect(rejection.records).toMatchObject({ compute_node: "devstack1", hypervisor: "devstack2" });
      untouched(harness);
    },
  );
}

scenario("2.4 G9 an empty database with guests on the hypervisor is refused", async (harness) => {
  harness.hypervisor("devstack1").addGuest(VM);
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection.code).toBe("guests-on-new-host");
  expect(rejection.message).toContain(VM);
  expect(harness.hypervisor("devstack1").guests.size).toBe(1);
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
});

scenario("2.4 G10 a service deleted under living guests is not made again", async (harness) => {
  const { service } = await devstack1(harness);
  harness.store.services.destroy(service.id);
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection.code).toBe("guests-on-new-host");
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
  untouched(harness);
});

scenario("2.4 G11 a service deleted without guests is made again, with the same node", async (harness) => {
  const { service, node } = await harness.seed("devstack1");
  harness.store.services.destroy(service.id);
  expect(harness.store.computeNodes.byHost("devstack1")).toEqual([]);
  const run = await harness.start("devstack1");
  expect(run.agent.state).toBe("serving");
  const again = harness.store.services.getByHost("devstack1", "nova-compute");
  expect(again?.id).not.toBe(service.id);
  expect(harness.store.computeNodes.byHost("devstack1")).toMatchObject([
    { id: node.id, uuid: node.uuid, deleted: 0, serviceId: again?.id },
  ]);
  expect(await harness.providers()).toEqual(["devstack1"]);
});

for (const [what, deletesService] of [
  ["its provider went with the service", true],
  ["an operator removed its provider", false],
] as const) {
  scenario(`2.4 G11 ${what}: the return is told without an error`, async (harness) => {
    const { service } = await harness.seed("devstack1");
    if (deletesService) {
      harness.store.services.destroy(service.id);
    }
    await harness.removeProvider("devstack1");
    expect(await harness.providers()).toEqual([]);
    const run = await harness.start("devstack1");
    await harness.world.advance(120_000);
    expect(await harness.providers()).toEqual(["devstack1"]);
    expect(run.agent.state).toBe("serving");
    expect(harness.world.logs.filter(({ level, fields }) => level === "error" || "err" in fields)).toEqual([]);
  });
}

for (const release of ["zed", "2024.1", "master"] as const) {
  scenario(
    `2.4 G11 with upstream_quirks = ${release}: as that Nova does, the host gets its provider again`,
    async (harness) => {
      const { service } = await harness.seed("devstack1");
      harness.store.services.destroy(service.id);
      await harness.removeProvider("devstack1");
      await harness.start("devstack1", { config: { quirks: RELEASES[release] } });
      await harness.world.advance(120_000);
      expect(await harness.providers()).toEqual(["devstack1"]);
    },
  );
}

scenario("2.4 G12 another compute_id for a recorded host and hypervisor is refused (e)", async (harness) => {
  const { node } = await devstack1(harness);
  const other = uuidOf(77);
  await harness.write("/state/other/compute_id", other);
  const rejection = await harness.expectRejection("devstack1", { statePath: "/state/other" });
  expect(rejection.code).toBe("node-recorded-twice");
  expect(rejection.message).toContain("Duplicate compute node record found for host ");
  expect(rejection.records).toEqual({ compute_id: other, compute_node: node.uuid });
  untouched(harness);
});

test("2.4 G12 upstream finds the collision only after it has destroyed what looks evacuated", async () => {
  const harness = await Harness.create();
  const { node } = await devstack1(harness);
  await harness.seed("devstack2");
  const target = harness.store.computeNodes.byHost("devstack2")[0] ?? node;
  harness.store.instances.save(VM, placed(target));
  harness.store.migrations.create({
    instanceUuid: VM,
    migrationType: "evacuation",
    status: "done",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
  });
  await harness.write("/state/other/compute_id", uuidOf(77));
  const error = await harness.failure("devstack1", {
    statePath: "/state/other",
    config: { quirks: ["late-node-collision-check"] },
  });
  expect(error.name).toBe("InvalidConfiguration");
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("2.4 G13 guests of another host without an evacuation record are counted and left alone", async (harness) => {
  await devstack1(harness);
  const { node } = await harness.seed("devstack2");
  const foreign = uuidOf(2);
  const orphan = uuidOf(3);
  addInstance(harness.store, foreign, placed(node));
  harness.hypervisor("devstack1").addGuest(foreign);
  harness.hypervisor("devstack1").addGuest(orphan);
  const counted: Record<string, number> = {};
  const run = await harness.start("devstack1", {
    metrics: {
      foreignGuests: (count) => Object.assign(counted, { foreign: count }),
      orphanGuests: (count) => Object.assign(counted, { orphan: count }),
    },
  });
  expect(run.agent.state).toBe("serving");
  expect(counted).toEqual({ foreign: 1, orphan: 1 });
  expect([...harness.hypervisor("devstack1").guests.keys()]).toEqual([VM, foreign, orphan]);
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
});

scenario(
  "2.4 d, f drivers that rebalance nodes are not guarded",
  async (harness) => {
    await devstack1(harness);
    const moving = new Hypervisor("devstack1");
    moving.rebalancesNodes = true;
    harness.attach("standby", moving);
    const run = await harness.start("standby");
    expect(run.agent.state).toBe("serving");
  },
  ["V7"],
);

scenario(
  "2.4 a an unready hypervisor: the agent starts, and destroys nothing while it cannot prove whose it is",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const hypervisor = harness.hypervisor("devstack1");
    hypervisor.failures.set("getAvailableNodes", () => new VirtDriverNotReady("starting up"));
    const run = await harness.start("devstack1");
    expect(hypervisor.changes).toEqual([]);
    expect(statusOf(harness, evacuation)).toBe("done");
    expect(run.runtime.logs.some(({ message }) => message.includes("hypervisor ownership unverified"))).toBe(true);
    await harness.stop(run);
    hypervisor.failures.clear();
    await harness.start("devstack1");
    expect(statusOf(harness, evacuation)).toBe("completed");
  },
);

scenario(
  "2.4 a, G13 an entirely unready hypervisor does not keep a driver without evacuation from starting",
  async (harness) => {
    await devstack1(harness);
    const hypervisor = harness.hypervisor("devstack1");
    hypervisor.capabilities = {};
    const error = new VirtDriverNotReady("starting up");
    hypervisor.failures.set("getAvailableNodes", () => error);
    hypervisor.failures.set("listInstanceUuids", () => error);
    expect((await harness.start("devstack1")).agent.state).toBe("serving");
    untouched(harness);
  },
);
