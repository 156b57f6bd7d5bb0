import { describe, expect, test } from "vitest";
import type { AgentState } from "../../../../src/agent/context.js";
import { awaitPlacement, initHost } from "../../../../src/agent/startup/init-host.js";
import { PendingEvacuations } from "../../../../src/agent/startup/pending-evacuations.js";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import type { Instance, Service } from "../../../../src/records/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { aComputeNode, anInstance } from "../../../fixtures/records.js";
import { NOW } from "../support/flow-stage.js";
import { FROM_HERE } from "../support/staged-move.js";
import { type StartOptions, StartStage } from "../support/start-stage.js";

const NODE = aComputeNode({ uuid: "u1", host: "here", hypervisorHostname: "node" });
const SERVICE = { id: 3, host: "here", version: 1 } as Service;

/** Creates a host that was in service before, with one instance. */
function staged(options: StartOptions = {}, loaded: readonly Instance[] = [anInstance({ uuid: "vm", host: "here" })]) {
  const stage = new StartStage({ capabilities: { supportsEvacuate: true }, lacks: ["plugVifs"], ...options });
  const { services, replies } = stage;
  Object.assign(services.driver, { rebalancesNodes: false });
  Object.assign(services.config, {
    compute: { maxDiskDevicesToAttach: -1 },
    filterScheduler: { trackInstanceChanges: true },
  });
  Object.assign(services.config.workarounds, { handleVirtLifecycleEvents: true });
  Object.assign(services.conductor, { acquireLease: async () => void stage.lines.push(["acquireLease"]) });
  replies["identity.read"] = { uuid: "u1", path: "/state/compute_id" };
  replies["driverRecord.read"] = { name: "staged", computeDriver: "staged" };
  replies["driver.getNodenamesByUuid"] = new Map([["u1", "node"]]);
  replies["driver.listInstanceUuids"] = [];
  replies["driver.processInstancesAtStartup"] = (instances: readonly Instance[]) => instances;
  replies.compute_nodes_by_uuids = [NODE];
  replies.compute_nodes_by_hypervisor_hostname = [NODE];
  replies.instances_by_host = loaded;
  replies["placement.getAllocationsForProvider"] = { consumers: new Map() };
  const states: AgentState[] = [];
  const pending = new PendingEvacuations();
  const signal = new AbortController().signal;
  const init = (service: Service | null = SERVICE) =>
    initHost(services, { service, pending, enter: (state) => void states.push(state), signal });
  return { stage, states, pending, init };
}
const names = (stage: StartStage) => stage.lines.map(([call]) => call);

describe("2.2 a host starts", () => {
  test("lease, driver, guard, identity, guests, moves, builds, scheduler", async () => {
    const { stage, states, init } = staged();
    await init();
    expect(states).toEqual(["guarding", "cleaning", "initializing"]);
    const order = names(stage).filter((call) => !call.startsWith("metrics"));
    expect(order).toEqual([
      "acquireLease",
      "driverRecord.read",
      "driver.initHost",
      "identity.read",
      "driver.getNodenamesByUuid",
      "compute_nodes_by_hypervisor_hostname",
      "identity.read",
      "identity.read",
      "driverRecord.read",
      "identity.allowWrites",
      "driverRecord.write",
      "instances_by_host",
      "migrations_by_filters",
      "driver.setLifecycleListener",
      "migrations_by_filters",
      "driver.processInstancesAtStartup",
      "driver.powerState",
      "driver.listInstanceUuids",
      "operations.findLeftGuests",
      "operations.recoverColdMoves",
      "placement.getAllocationsForProvider",
      "instances_by_filters",
      "sync_instance_info",
    ]);
    expect(stage.argumentsOf("instances_by_host")[0]).toEqual([{ host: "here" }]);
    const listed = expect.any(Array);
    expect(stage.argumentsOf("operations.recoverColdMoves")).toEqual([[{ before: NOW, confirmed: true, listed }]]);
  });

  test("V6 nothing is written or touched before the guard lets it pass", async () => {
    const { stage, init } = staged();
    stage.replies.compute_nodes_by_hypervisor_hostname = [{ ...NODE, uuid: "u2", host: "there" }];
    await expect(init()).rejects.toMatchObject({ rejection: { code: "hypervisor-of-other-host" } });
    expect(names(stage)).not.toContain("identity.allowWrites");
    expect(names(stage)).not.toContain("driverRecord.write");
    expect(names(stage)).not.toContain("instances_by_host");
  });

  test("2.4 g a host that was taken over while it looked names no driver", async () => {
    const { stage, init } = staged();
    stage.replies["identity.allowWrites"] = () => {
      stage.leaseHeld = false;
    };
    await expect(init()).rejects.toThrow("did not record the driver of this host");
    expect(names(stage)).not.toContain("driverRecord.write");
    expect(names(stage)).not.toContain("instances_by_host");
  });

  test("a host without a service row is asked for guests after the guard; one with a row is not", async () => {
    const { stage, init } = staged({}, []);
    stage.replies["driver.listInstanceUuids"] = ["guest"];
    await expect(init(null)).rejects.toMatchObject({ rejection: { code: "guests-on-new-host" } });
    expect(names(stage).indexOf("driver.listInstanceUuids")).toBeGreaterThan(
      names(stage).indexOf("compute_nodes_by_hypervisor_hostname"),
    );
    const known = staged({}, []);
    known.stage.replies["driver.listInstanceUuids"] = ["guest"];
    await known.init();
    expect(known.states).toContain("initializing");
  });

  test("whose the guests are is asked once, of those that no instance of the host explains", async () => {
    const { stage, init } = staged();
    const other = anInstance({ uuid: "other", host: "there" });
    stage.replies["driver.listInstanceUuids"] = ["vm", "other"];
    stage.replies.instances_by_filters = ({ filters }: { filters: { uuids?: string[] } }) =>
      filters.uuids === undefined ? [] : [other];
    await init();
    expect(stage.argumentsOf("instances_by_filters")[0]).toEqual([{ filters: { uuids: ["other"] } }]);
    expect(stage.argumentsOf("operations.findLeftGuests")).toEqual([[[other]]]);
    expect(stage.argumentsOf("sync_instance_info")[0]?.[0]).toEqual({ host: "here", instanceUuids: ["vm"] });
  });

  test("a host without instances tells the scheduler nothing; one with some does, also when the start fails", async () => {
    const empty = staged({}, []);
    await empty.init();
    expect(names(empty.stage).at(-1)).toBe("instances_by_filters");
    const failing = staged();
    failing.stage.replies["operations.recoverColdMoves"] = new Error("broken");
    await expect(failing.init()).rejects.toThrow("broken");
    expect(names(failing.stage).at(-1)).toBe("sync_instance_info");
  });

  test("the driver says which of the instances are looked at", async () => {
    const two = [anInstance({ uuid: "vm", host: "here" }), anInstance({ uuid: "second", host: "here" })];
    const { stage, init } = staged({}, two);
    stage.replies["driver.processInstancesAtStartup"] = [two[1]];
    await init();
    expect(stage.argumentsOf("driver.powerState")).toHaveLength(1);
  });

  test("2.7 instances that were looked at are no interrupted builds", async () => {
    const { stage, init } = staged();
    stage.replies["placement.getAllocationsForProvider"] = { consumers: new Map([["vm", {}]]) };
    await init();
    const filters = {
      launchedOn: "here",
      vmStates: ["building", "shelved_offloaded"],
      taskStates: ["scheduling", "spawning"],
      deleted: false,
    };
    expect(stage.argumentsOf("instances_by_filters"), "of the nodes' consumers none is asked for").toEqual([
      [{ filters }],
    ]);
  });
});

describe("2.2 rows 8 to 10 evacuations", () => {
  const evacuation = { ...FROM_HERE, migrationType: "evacuation", status: "accepted" } as const;

  test("one that has not ended keeps its instance from being looked at, and is pending", async () => {
    const { stage, pending, init } = staged({ migration: evacuation });
    await init();
    expect(stage.argumentsOf("driver.processInstancesAtStartup")[0]?.[0]).toEqual([]);
    expect([...pending.instances]).toEqual(["vm"]);
  });

  test("a driver that takes no evacuated instances has none to clean up after", async () => {
    const { stage, pending, init } = staged({ migration: evacuation, capabilities: {} });
    await init();
    expect(stage.argumentsOf("driver.processInstancesAtStartup")[0]?.[0]).toHaveLength(1);
    expect(pending.size).toBe(0);
  });

  test("whose hypervisor this is could not be proved: nothing on it is destroyed", async () => {
    const { stage, pending, init } = staged({
      migration: { ...evacuation, status: "done" },
      instance: { host: "there" },
    });
    stage.replies["driver.getNodenamesByUuid"] = new VirtDriverNotReady("booting");
    stage.replies["driver.listInstanceUuids"] = ["vm"];
    await init();
    expect(names(stage)).not.toContain("driver.destroy");
    expect(stage.argumentsOf("driver.processInstancesAtStartup")[0]?.[0]).toEqual([]);
    expect(stage.logged("skipping evacuation cleanup")).toBe(1);
    expect(pending.size).toBe(0);
  });

  test("3.1 OPT a Placement that is away is waited for, and the evacuations are planned anew", async () => {
    const { stage, init } = staged({ migration: { ...evacuation, status: "done" }, instance: { host: "there" } }, []);
    const strip = "placement.removeProviderTreeFromInstanceAllocation";
    let times = 0;
    stage.replies[strip] = () => (times++ < 2 ? new PlacementError("ConnectFailure", "away") : true);
    await init();
    expect(stage.argumentsOf(strip)).toHaveLength(3);
    expect(stage.passed).toBe(4_000);
    expect(stage.migration?.status).toBe("completed");
  });
});

describe("3.1 OPT waiting for Placement", () => {
  const ask = (times: number, error: () => Error = () => new PlacementError("ConnectFailure", "nobody answers")) => {
    const runtime = createVirtualRuntime({ seed: 1 });
    const abort = new AbortController();
    let tries = 0;
    const work = async () => {
      tries += 1;
      if (tries <= times) {
        throw error();
      }
      return "done";
    };
    const waiting = awaitPlacement({ logger: runtime.logger, runtime }, "begin", abort.signal, work);
    const outcome = waiting.catch((failure: unknown) => failure);
    return { runtime, abort, outcome, tries: () => tries };
  };
  const countWaitLogs = ({ runtime }: ReturnType<typeof ask>) =>
    runtime.logs.filter(({ message }) => message === "start-up waits for Placement, to begin: nobody answers").length;

  test("tries every two seconds, and says so at once and every ten", async () => {
    const polling = ask(11);
    await polling.runtime.world.advance(19_999);
    expect([polling.tries(), countWaitLogs(polling)]).toEqual([10, 2]);
    await polling.runtime.world.advance(2_001);
    expect(await polling.outcome).toBe("done");
    await polling.runtime.world.advance(30_000);
    expect(countWaitLogs(polling), "no more when it is over").toBe(3);
  });

  test("any answer ends it, and so does the signal", async () => {
    const rejected = ask(1, () => new Error("refused"));
    await rejected.runtime.world.advance(1);
    expect([await rejected.outcome, rejected.tries()]).toMatchObject([{ message: "refused" }, 1]);
    const stopped = ask(99);
    await stopped.runtime.world.advance(5_000);
    stopped.abort.abort(new Error("stopped"));
    await stopped.runtime.world.advance(5_000);
    expect(await stopped.outcome).toMatchObject({ message: "stopped" });
    expect(countWaitLogs(stopped)).toBe(1);
  });
});
