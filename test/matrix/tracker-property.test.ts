import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Claim } from "../../src/agent/tracker/contract.js";
import type { Instance } from "../../src/records/index.js";
import { checkAllocations, checkPersistedUsage, checkReschedules, checkUsage } from "../fixtures/invariants-tracker.js";
import { property } from "../fixtures/property.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { CONFLICT, type RequestFault } from "../fixtures/tracker-http.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";

/** Faults of Placement's requests during one step; `every` is the number of requests between two faults. */
interface Weather {
  readonly fault: RequestFault;
  readonly every: number;
}

const STEPS = [
  "build",
  "delete",
  "claim",
  "abort",
  "pass",
  "node pass",
  "failing build",
  "local delete",
  "restart",
] as const;
type Step = (typeof STEPS)[number];

const weather: fc.Arbitrary<Weather> = fc.record({
  fault: fc.constantFrom<RequestFault>(undefined, undefined, CONFLICT, { status: 500 }, "refused", "answer lost"),
  every: fc.integer({ min: 1, max: 4 }),
});
const plan = fc.array(fc.tuple(fc.constantFrom<Step>(...STEPS), fc.nat(), weather), { minLength: 5, maxLength: 30 });

class Run {
  readonly world: TrackerWorld;
  agent: TestAgent;
  readonly instances: Instance[] = [];
  readonly claims: Claim[] = [];

  constructor(world: TrackerWorld, agent: TestAgent) {
    this.world = world;
    this.agent = agent;
  }

  async step(kind: Step, choice: number): Promise<void> {
    const { world, agent } = this;
    if (kind === "build" || kind === "failing build") {
      const vm = await this.#new();
      if (kind === "failing build") {
        agent.hypervisor.fail = (method, uuid) =>
          method === "spawn" && uuid === vm.uuid ? new Error("no") : undefined;
      }
      const retry = choice % 2 === 0 ? { retry: { numAttempts: 1, hosts: [] } } : {};
      await world.build(agent, vm, retry).catch(() => undefined);
    } else if (kind === "claim") {
      const vm = await this.#new();
      const claim = await agent.tracker.instanceClaim(vm, "n1", {}).catch(() => null);
      if (claim) {
        this.claims.push(claim);
      }
    } else if (kind === "abort") {
      const [claim] = this.claims.splice(choice % Math.max(1, this.claims.length), 1);
      await claim?.abort({ instance: { vmState: "error", taskState: null } });
    } else if (kind === "delete") {
      const vm = this.#alive(choice);
      if (vm) {
        await this.delete(vm).catch(() => undefined);
      }
    } else if (kind === "local delete") {
      // As the API does when the host and Placement are down: the row is deleted, and the allocation leaks until 4.6 row 4.
      const vm = this.#alive(choice);
      if (vm) {
        world.store.instances.destroy(vm.uuid);
      }
    } else if (kind === "restart") {
      this.claims.length = 0;
      this.agent = await world.agent("h1", agent.hypervisor);
      await this.agent.tracker.updateAvailableResource({ startup: true });
    } else if (kind === "pass") {
      await agent.tracker.updateAvailableResource({ startup: false });
    } else {
      await agent.tracker.updateAvailableResourceForNode("n1");
    }
  }

  /** Deletes an instance as the API does. */
  async delete({ uuid }: Instance): Promise<void> {
    const vm = this.world.store.instances.save(uuid, { taskState: "deleting" });
    await this.agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-d" });
  }

  async #new(): Promise<Instance> {
    const vm = this.world.instance();
    this.instances.push(vm);
    await this.world.claim(vm, this.agent.nodeUuid);
    return vm;
  }

  /** Returns an instance without an open claim; nothing else can be done to one with a claim. */
  #alive(choice: number): Instance | undefined {
    const claimed = new Set(this.claims.map(({ instance }) => instance.uuid));
    const alive = this.instances.filter(({ uuid }) => this.world.store.instances.get(uuid) && !claimed.has(uuid));
    return alive[choice % Math.max(1, alive.length)];
  }
}

describe("V19 for any sequence of builds, deletes, claims, aborts and passes, with any faults", () => {
  property([plan], { numRuns: 60, seed: 20261121 })(
    "used == reserved + Σ under the lock and after each pass; allocations == instances when it is over",
    async (steps) => {
      const world = await TrackerWorld.create();
      const run = new Run(world, await world.startedAgent("h1", new StubHypervisor("n1")));
      for (const [kind, choice, { fault, every }] of steps) {
        let count = 0;
        run.agent.http.fault = () => {
          count += 1;
          return count % every === 0 ? fault : undefined;
        };
        await run.step(kind, choice);
        if (kind !== "local delete" && kind !== "restart") {
          checkUsage(world, run.agent);
        }
        if (kind === "local delete") {
          await run.step("pass", 0);
        }
      }
      checkReschedules(world);
      run.agent.http.fault = () => undefined;
      run.agent.hypervisor.fail = () => undefined;
      await run.agent.tracker.updateAvailableResource({ startup: false });
      await run.agent.tracker.updateAvailableResource({ startup: false });
      checkPersistedUsage(world, run.agent);
      // Unfinished claims keep the scheduler's allocations until the user deletes the instance.
      for (const { instance } of run.claims) {
        await run.delete(instance);
      }
      const settled = run.instances.filter(({ uuid }) => {
        const { deleted, host, vmState } = world.stored(uuid);
        // A delete that Placement rejected leaves an instance in error; one without a response leaves a row with unknown
        // allocations.
        return deleted !== 0 || (host !== null && vmState !== "error" && vmState !== "deleted");
      });
      await checkAllocations(world, settled);
      for (const { uuid } of run.instances.filter((vm) => world.store.instances.get(vm.uuid))) {
        await run.delete(world.stored(uuid));
      }
      await run.agent.tracker.updateAvailableResource({ startup: false });
      await checkAllocations(world, run.instances);
      checkPersistedUsage(world, run.agent);
      expect(world.store.computeNodes.byHost("h1")).toMatchObject([{ vcpusUsed: 0, runningVms: 0 }]);
    },
  );
});
