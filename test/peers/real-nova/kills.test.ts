import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { STEP_NAMES } from "../../../src/agent/operations/table.js";
import { VirtualRandom } from "../../../src/simulation/virtual-random.js";
import { eventually } from "../../process/support/cloud.js";
import type { Program } from "../../process/support/program.js";
import { hasPeer } from "./control-plane.js";
import { OC_HOSTS, type OcHost, ocOptions, withOcHosts } from "./oc-hosts.js";
import type { RealNova } from "./real-nova.js";
import { useRealNova } from "./use-real-nova.js";
import { allocationsOn, idle, isSettled, settles } from "./waiting.js";

/** Number of sampled cases, and the seed. `REAL_NOVA_KILLS=1000` runs all. */
const SAMPLE = Number(process.env.REAL_NOVA_KILLS ?? 3);
const SEED = process.env.REAL_NOVA_SEED ?? String(Date.now() % 100_000);

/** Milliseconds for an interrupted move to end. */
const RECOVERY = 240_000;
const FINAL = ["completed", "confirmed", "reverted", "error", "failed", "done", "cancelled"];

/** An operation, the host that is killed during it, and the step before which that happens. */
interface Kill {
  readonly flow: "build" | "resize" | "live migration" | "evacuation";
  readonly operation: string;
  readonly step: string;
  readonly victim: OcHost;
}

const SIDES: readonly (readonly [Kill["flow"], string, OcHost])[] = [
  ["build", "build_and_run_instance", "oc1"],
  ["resize", "prep_resize", "oc2"],
  ["resize", "resize_instance", "oc1"],
  ["resize", "finish_resize", "oc2"],
  ["live migration", "check_can_live_migrate_destination", "oc2"],
  ["live migration", "live_migration", "oc1"],
  ["live migration", "pre_live_migration", "oc2"],
  ["live migration", "post_live_migration_at_destination", "oc2"],
  ["live migration", "post_live_migration", "oc1"],
  ["evacuation", "evacuate_instance", "oc2"],
];

const ALL: readonly Kill[] = SIDES.flatMap(([flow, operation, victim]) =>
  (STEP_NAMES[operation] ?? []).map((step) => ({ flow, operation, step, victim })),
);

function drawn(): readonly Kill[] {
  const random = new VirtualRandom(SEED);
  return ALL.map((kill) => ({ kill, at: random.next() }))
    .sort((one, other) => one.at - other.at)
    .slice(0, SAMPLE)
    .map(({ kill }) => kill);
}

describe.skipIf(!hasPeer)(`kills, seed ${SEED} (REAL_NOVA_SEED)`, () => {
  const cloud = useRealNova();
  const { agents } = withOcHosts(cloud);

  it.each(drawn().map((kill) => [kill.flow, kill.victim, `${kill.operation}.${kill.step}`, kill] as const))(
    "R2: %s: %s is killed before %s, and restarts",
    async (_flow, _victim, _step, kill) => {
      const nova = cloud();
      await new KilledFlow(nova, agents, kill).run();
      for (const host of OC_HOSTS) {
        await expect.poll(() => allocationsOn(nova, host), { timeout: 20_000, message: host }).toEqual({});
        // The source removes leftovers of a move periodically, once the instance is deleted.
        await expect.poll(() => nova.guests(host), { timeout: 30_000, message: host }).toBe("");
      }
    },
  );
});
class KilledFlow {
  readonly #nova: RealNova;
  readonly #agents: Map<string, Program>;
  readonly #kill: Kill;
  #used = 0;

  constructor(nova: RealNova, agents: Map<string, Program>, kill: Kill) {
    this.#nova = nova;
    this.#agents = agents;
    this.#kill = kill;
  }

  async run(): Promise<void> {
    const { operator } = this.#nova;
    const { flow, operation, step, victim } = this.#kill;
    const fault = `agent.${operation}.${step}=hang:5m:once`;
    this.#used = await this.#uses();
    if (flow === "build") {
      await this.#nova.setFault(victim, fault);
      const id = await operator.boot("killed", { host: victim });
      await this.#die();
      await this.#comesToRest(id);
      return;
    }
    const id = await operator.boot("killed", { host: "oc1" });
    await idle(this.#nova, id, "ACTIVE");
    await this.#nova.setFault(victim, fault);
    if (flow === "evacuation") {
      await this.#agents.get("oc1")?.kill();
      await operator.forceDown("oc1", true);
      await operator.evacuate(id, "oc2");
    } else if (flow === "resize") {
      await this.#nova.act(id, { migrate: { host: "oc2" } });
    } else {
      await this.#nova.act(id, { "os-migrateLive": { host: "oc2", block_migration: "auto" } });
    }
    await this.#die();
    if (flow === "evacuation") {
      await this.#start("oc1");
      await eventually(
        () => operator.forceDown("oc1", false),
        (status) => status === 200,
      );
    }
    await this.#comesToRest(id);
  }

  /** Waits until the step is about to begin, kills its agent, and starts it again. */
  async #die(): Promise<void> {
    const { victim } = this.#kill;
    await eventually(
      () => this.#uses(),
      (uses) => uses > this.#used,
    );
    await this.#agents.get(victim)?.kill();
    await this.#start(victim);
  }

  /** Returns how often the victim's faults have triggered. */
  async #uses(): Promise<number> {
    const path = join(this.#nova.statePath(this.#kill.victim), "faults-used.json");
    const uses = JSON.parse(await readFile(path, "utf8").catch(() => "{}")) as Readonly<Record<string, number>>;
    return Object.values(uses).reduce((total, count) => total + count, 0);
  }

  async #start(host: OcHost): Promise<void> {
    this.#agents.set(host, await this.#nova.startAgent(host, { options: ocOptions(host) }));
  }

  /**
   * Checks that the server comes to rest, with its allocations and its guest only on its host, and that a delete leaves
   * nothing.
   */
  async #comesToRest(id: string): Promise<void> {
    const nova = this.#nova;
    const { operator } = nova;
    let server = await settles(nova, this.#agents, id);
    if (String(server.status) === "VERIFY_RESIZE") {
      await nova.act(id, { confirmResize: null });
      server = await eventually(
        () => operator.server(id),
        (found) => isSettled(found) && String(found.status) !== "VERIFY_RESIZE",
      );
    }
    const host = String(server["OS-EXT-SRV-ATTR:host"]);
    // A build that was not claimed is in error, and keeps the scheduler's allocations until it is deleted.
    const expected = host === "null" ? [this.#kill.victim] : [host];
    const holders = async () => Object.keys(await operator.held(id, OC_HOSTS));
    await expect.poll(holders, { timeout: RECOVERY, message: "the instance's allocations" }).toEqual(expected);
    // A host that was killed, or that waits for one, ends its part in a later pass.
    await expect.poll(() => this.#unended(id), { timeout: RECOVERY }).toEqual([]);
    if (String(server.status) === "ACTIVE") {
      const there = await Promise.all(
        OC_HOSTS.map(async (each) => ((await nova.guests(each)).includes(id) ? [each] : [])),
      );
      expect(there.flat()).toEqual(expected);
    }
    await nova.remove(id);
  }

  /** Returns the server's moves that have not ended or still have allocations. */
  async #unended(id: string): Promise<readonly string[]> {
    const { operator } = this.#nova;
    const found: string[] = [];
    for (const { uuid, status } of await operator.migrations(id)) {
      const held = await operator.held(String(uuid), OC_HOSTS);
      if (!FINAL.includes(String(status)) || Object.keys(held).length > 0) {
        found.push(`a migration in ${status} holds ${JSON.stringify(held)}`);
      }
    }
    return found;
  }
}
