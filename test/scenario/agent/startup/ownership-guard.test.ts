import { expect, test } from "vitest";
import { RELEASES } from "../../../../src/config/quirks.js";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { evacuated, statusOf } from "../../../unit/agent/support/evacuated.js";
import { Lab } from "../../../unit/agent/support/harness.js";
import { Hypervisor } from "../../../unit/agent/support/hypervisor.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** devstack1 in service with one guest. */
async function devstack1(lab: Lab) {
  const { node, service } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  lab.hypervisor("devstack1").addGuest(VM);
  await lab.allocate(VM, node);
  return { node, service };
}

function untouched(lab: Lab): void {
  expect(lab.hypervisor("devstack1").guests.get(VM)).toEqual({ power: 1 });
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", deleted: 0 });
}

scenario("2.4 G1 a plain restart starts", async (lab) => {
  await devstack1(lab);
  const run = await lab.start("devstack1");
  expect(run.agent.state).toBe("serving");
  untouched(lab);
});

scenario("2.4 G2 another host value with the same state and hypervisor is refused (d)", async (lab) => {
  const { node } = await devstack1(lab);
  const refusal = await lab.refusal("devstack2", {
    statePath: "/state/devstack1",
    hypervisor: lab.hypervisor("devstack1"),
  });
  expect(refusal).toMatchObject({ code: "node-of-other-host", error: "InvalidConfiguration" });
  expect(refusal.message).toContain(
    `My node ${node.uuid} has host 'devstack1' but my host is 'devstack2'. Possible rename detected: compute_id file /state/devstack1/compute_id says that uuid, which is recorded with hypervisor_hostname devstack1`,
  );
  expect(refusal.mend).toContain("--host devstack1");
  expect(lab.store.services.getByHost("devstack2", "nova-compute")).toBeNull();
  untouched(lab);
});

scenario("2.4 G3 a renamed hypervisor is refused (c)", async (lab) => {
  const { node } = await devstack1(lab);
  lab.hypervisor("devstack1").name = "renamed";
  const refusal = await lab.refusal("devstack1");
  expect(refusal.code).toBe("hypervisor-renamed");
  expect(refusal.message).toContain(
    "has hypervisor_hostname devstack1 but virt driver reports it should be renamed. Possible rename detected",
  );
  expect(refusal.records).toEqual({ compute_id: node.uuid, compute_node: "devstack1", hypervisor: "renamed" });
  untouched(lab);
});

for (const guests of ["with guests", "empty"]) {
  const id = guests === "empty" ? "G5" : "G4";
  scenario(
    `2.4 ${id} a passive agent with its own state on the same hypervisor, ${guests}, is refused (f)`,
    async (lab) => {
      await devstack1(lab);
      const hypervisor = lab.hypervisor("devstack1");
      if (guests === "empty") {
        hypervisor.guests.clear();
      }
      const before = [...hypervisor.guests];
      const refusal = await lab.refusal("standby", { hypervisor });
      expect(refusal.code).toBe("hypervisor-of-other-host");
      expect(refusal.message).toContain("with that hypervisor_hostname");
      expect(refusal.message).toContain("is recorded for host devstack1, this agent is standby");
      expect([...hypervisor.guests]).toEqual(before);
      expect(await lab.read("/state/standby/compute_id")).toBeUndefined();
      expect(lab.store.services.getByHost("standby", "nova-compute")).toBeNull();
    },
  );
}

scenario(
  "2.4 G5 upstream starts, and has a second compute node for the hypervisor",
  async (lab) => {
    await devstack1(lab);
    const hypervisor = lab.hypervisor("devstack1");
    hypervisor.guests.clear();
    const run = await lab.start("standby", { hypervisor, config: { quirks: ["adopt-foreign-hypervisor"] } });
    expect(run.agent.state).toBe("serving");
    expect(lab.store.computeNodes.byHypervisorHostname("devstack1").map(({ host }) => host)).toEqual([
      "devstack1",
      "standby",
    ]);
    expect(await lab.providers()).toEqual(["devstack1"]);
  },
  ["V7"],
);

scenario("2.4 G4 upstream refuses too, because a new host has no guests", async (lab) => {
  await devstack1(lab);
  const refusal = await lab.refusal("standby", {
    hypervisor: lab.hypervisor("devstack1"),
    config: { quirks: ["adopt-foreign-hypervisor"] },
  });
  expect(refusal.code).toBe("guests-on-new-host");
  expect(refusal.message).toContain(
    "My hypervisor has existing instances, but I appear to be a new service in this database",
  );
  untouched(lab);
});

scenario("2.4 G6 a second agent with the same host and state is refused; the first serves on", async (lab) => {
  await devstack1(lab);
  const first = await lab.start("devstack1");
  const refusal = await lab.refusal("devstack1", { process: "another" });
  expect(refusal).toMatchObject({ code: "host-lease-held", error: "HostLeaseHeld" });
  expect(refusal.message).toContain("another agent acts for host devstack1");
  expect(first.agent.state).toBe("serving");
  expect(lab.controlPlane.conductor.bus.serves("devstack1")).toBe(true);
  untouched(lab);
});

scenario("2.4 G6 upstream lets two agents share one host", async (lab) => {
  await devstack1(lab);
  const config = { quirks: ["no-host-lease"] as const };
  const first = await lab.start("devstack1", { config });
  const second = await lab.start("devstack1", { config, process: "another" });
  expect([first.agent.state, second.agent.state]).toEqual(["serving", "serving"]);
});

scenario("2.4 G7 a lost compute_id is refused", async (lab) => {
  const { node } = await devstack1(lab);
  const refusal = await lab.refusal("devstack1", { statePath: "/state/elsewhere" });
  expect(refusal.code).toBe("identity-lost");
  expect(refusal.message).toContain("No local node identity found, but this is not our first startup on this host");
  expect(refusal.mend).toContain(`write ${node.uuid} to /state/elsewhere/compute_id`);
  expect(await lab.read("/state/elsewhere/compute_id")).toBeUndefined();
  untouched(lab);
});

for (const inService of [true, false]) {
  scenario(
    `2.4 G8 a compute_id cloned from another host is refused (${inService ? "in service" : "new"} host)`,
    async (lab) => {
      const { node } = await devstack1(lab);
      if (inService) {
        await lab.seed("devstack2");
      }
      await lab.write("/state/devstack2/compute_id", node.uuid);
      const refusal = await lab.refusal("devstack2");
      expect(refusal.code).toBe("hypervisor-renamed");
      expect(refusal.records).toMatchObject({ compute_node: "devstack1", hypervisor: "devstack2" });
      untouched(lab);
    },
  );
}

scenario("2.4 G9 an empty database with guests on the hypervisor is refused", async (lab) => {
  lab.hypervisor("devstack1").addGuest(VM);
  const refusal = await lab.refusal("devstack1");
  expect(refusal.code).toBe("guests-on-new-host");
  expect(refusal.message).toContain(VM);
  expect(lab.hypervisor("devstack1").guests.size).toBe(1);
  expect(lab.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
});

scenario("2.4 G10 a service deleted under living guests is not made again", async (lab) => {
  const { service } = await devstack1(lab);
  lab.store.services.destroy(service.id);
  const refusal = await lab.refusal("devstack1");
  expect(refusal.code).toBe("guests-on-new-host");
  expect(lab.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
  untouched(lab);
});

scenario("2.4 G11 a service deleted without guests is made again, with the same node", async (lab) => {
  const { service, node } = await lab.seed("devstack1");
  lab.store.services.destroy(service.id);
  expect(lab.store.computeNodes.byHost("devstack1")).toEqual([]);
  const run = await lab.start("devstack1");
  expect(run.agent.state).toBe("serving");
  const again = lab.store.services.getByHost("devstack1", "nova-compute");
  expect(again?.id).not.toBe(service.id);
  expect(lab.store.computeNodes.byHost("devstack1")).toMatchObject([
    { id: node.id, uuid: node.uuid, deleted: 0, serviceId: again?.id },
  ]);
  expect(await lab.providers()).toEqual(["devstack1"]);
});

for (const [what, deletesService] of [
  ["its provider went with the service", true],
  ["an operator removed its provider", false],
] as const) {
  scenario(`2.4 G11 ${what}: the return is told without an error`, async (lab) => {
    const { service } = await lab.seed("devstack1");
    if (deletesService) {
      lab.store.services.destroy(service.id);
    }
    await lab.removeProvider("devstack1");
    expect(await lab.providers()).toEqual([]);
    const run = await lab.start("devstack1");
    await lab.world.advance(120_000);
    expect(await lab.providers()).toEqual(["devstack1"]);
    expect(run.agent.state).toBe("serving");
    expect(lab.world.logs.filter(({ level, fields }) => level === "error" || "err" in fields)).toEqual([]);
  });
}

for (const release of ["zed", "2024.1", "master"] as const) {
  scenario(
    `2.4 G11 with upstream_quirks = ${release}: as that Nova does, the host gets its provider again`,
    async (lab) => {
      const { service } = await lab.seed("devstack1");
      lab.store.services.destroy(service.id);
      await lab.removeProvider("devstack1");
      await lab.start("devstack1", { config: { quirks: RELEASES[release] } });
      await lab.world.advance(120_000);
      expect(await lab.providers()).toEqual(["devstack1"]);
    },
  );
}

scenario("2.4 G12 another compute_id for a recorded host and hypervisor is refused (e)", async (lab) => {
  const { node } = await devstack1(lab);
  const other = uuidOf(77);
  await lab.write("/state/other/compute_id", other);
  const refusal = await lab.refusal("devstack1", { statePath: "/state/other" });
  expect(refusal.code).toBe("node-recorded-twice");
  expect(refusal.message).toContain("Duplicate compute node record found for host ");
  expect(refusal.records).toEqual({ compute_id: other, compute_node: node.uuid });
  untouched(lab);
});

test("2.4 G12 upstream finds the collision only after it has destroyed what looks evacuated", async () => {
  const lab = await Lab.create();
  const { node } = await devstack1(lab);
  await lab.seed("devstack2");
  const target = lab.store.computeNodes.byHost("devstack2")[0] ?? node;
  lab.store.instances.save(VM, placed(target));
  lab.store.migrations.create({
    instanceUuid: VM,
    migrationType: "evacuation",
    status: "done",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
  });
  await lab.write("/state/other/compute_id", uuidOf(77));
  const error = await lab.failure("devstack1", {
    statePath: "/state/other",
    config: { quirks: ["late-node-collision-check"] },
  });
  expect(error.name).toBe("InvalidConfiguration");
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("2.4 G13 guests of another host without an evacuation record are counted and left alone", async (lab) => {
  await devstack1(lab);
  const { node } = await lab.seed("devstack2");
  const foreign = uuidOf(2);
  const orphan = uuidOf(3);
  addInstance(lab.store, foreign, placed(node));
  lab.hypervisor("devstack1").addGuest(foreign);
  lab.hypervisor("devstack1").addGuest(orphan);
  const counted: Record<string, number> = {};
  const run = await lab.start("devstack1", {
    metrics: {
      foreignGuests: (count) => Object.assign(counted, { foreign: count }),
      orphanGuests: (count) => Object.assign(counted, { orphan: count }),
    },
  });
  expect(run.agent.state).toBe("serving");
  expect(counted).toEqual({ foreign: 1, orphan: 1 });
  expect([...lab.hypervisor("devstack1").guests.keys()]).toEqual([VM, foreign, orphan]);
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
});

scenario(
  "2.4 d, f drivers that rebalance nodes are not guarded",
  async (lab) => {
    await devstack1(lab);
    const moving = new Hypervisor("devstack1");
    moving.rebalancesNodes = true;
    lab.attach("standby", moving);
    const run = await lab.start("standby");
    expect(run.agent.state).toBe("serving");
  },
  ["V7"],
);

scenario(
  "2.4 a an unready hypervisor: the agent starts, and destroys nothing while it cannot prove whose it is",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const hypervisor = lab.hypervisor("devstack1");
    hypervisor.failures.set("getAvailableNodes", () => new VirtDriverNotReady("starting up"));
    const run = await lab.start("devstack1");
    expect(hypervisor.changes).toEqual([]);
    expect(statusOf(lab, evacuation)).toBe("done");
    expect(run.runtime.logs.some(({ message }) => message.includes("could not be proved"))).toBe(true);
    await lab.stop(run);
    hypervisor.failures.clear();
    await lab.start("devstack1");
    expect(statusOf(lab, evacuation)).toBe("completed");
  },
);

scenario(
  "2.4 a, G13 an entirely unready hypervisor does not keep a driver without evacuation from starting",
  async (lab) => {
    await devstack1(lab);
    const hypervisor = lab.hypervisor("devstack1");
    hypervisor.capabilities = {};
    const error = new VirtDriverNotReady("starting up");
    hypervisor.failures.set("getAvailableNodes", () => error);
    hypervisor.failures.set("listInstanceUuids", () => error);
    expect((await lab.start("devstack1")).agent.state).toBe("serving");
    untouched(lab);
  },
);
