import { formatFaultRule } from "../../src/faults/faults.js";
import type { Dice } from "./dice.js";
import { drawFault, holdAnyStep, partition } from "./faults.js";
import type { Host } from "./host.js";
import type { ChaosOptions } from "./options.js";
import type { World } from "./world.js";

interface Harm {
  readonly name: string;
  readonly weight: number;
  readonly run: (host: Host, until: AbortSignal) => Promise<void>;
}

/** Max number of hosts with a disruption at a time; the others have work to do. */
const AT_ONCE = 3;
/** Milliseconds after which another agent can get a silent agent's lease, with some reserve. */
const LEASE = 11_500;
const KILL_CONTROL_PLANE = "kill control plane";

/** Disrupts the cluster at random with kills, freezes, partitions and faults. */
export class Adversary {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #options: Pick<ChaosOptions, "faults" | "without">;
  readonly #harms: readonly Harm[];

  constructor(world: World, dice: Dice, options: Pick<ChaosOptions, "faults" | "without">) {
    this.#world = world;
    this.#dice = dice;
    this.#options = options;
    const harms: readonly Harm[] = [
      { name: "kill", weight: 6, run: (host, until) => this.#kill(host, until) },
      { name: "kill in a step", weight: 6, run: (host, until) => this.#killInStep(host, until) },
      { name: "restart", weight: 2, run: (host, until) => this.#restart(host, until) },
      { name: "freeze", weight: 4, run: (host, until) => this.#freeze(host, until, 200, 3_000) },
      { name: "freeze long", weight: 2, run: (host, until) => this.#freeze(host, until, 6_000, 14_000) },
      { name: "replace frozen", weight: 2, run: (host, until) => this.#replaceFrozen(host, until) },
      { name: "partition", weight: 5, run: (host, until) => this.#partition(host, until) },
    ];
    this.#harms = harms.filter(({ name }) => !options.without.includes(name));
  }

  async run(until: AbortSignal): Promise<void> {
    const underWay: Promise<void>[] = [];
    while (!until.aborted) {
      await this.#dice.pause(200, 1_500, until);
      if (until.aborted) {
        break;
      }
      if (this.#dice.chance(0.45)) {
        await this.#setFault();
      } else if (this.#dice.chance(0.15)) {
        underWay.push(this.#harmControlPlane(until));
      } else {
        underWay.push(this.#harmHost(until));
      }
    }
    await Promise.all(underWay);
  }

  async #harmHost(until: AbortSignal): Promise<void> {
    const { hosts } = this.#world;
    if (hosts.filter(({ harmed }) => harmed).length >= AT_ONCE) {
      return;
    }
    const host = this.#dice.pick(hosts.filter(({ harmed }) => !harmed));
    const harm = this.#dice.weighted(this.#harms);
    if (host === undefined || harm === undefined) {
      return;
    }
    host.harmed = true;
    this.#note(harm.name, host.name);
    await harm.run(host, until);
    host.harmed = false;
  }

  async #kill(host: Host, until: AbortSignal): Promise<void> {
    await host.kill();
    await this.#dice.pause(0, 9_000, until);
    if (host.agent === undefined) {
      host.start();
    }
  }

  /** Waits, within limits, until an operation is at one of its steps, and kills its agent there. */
  async #killInStep(host: Host, until: AbortSignal): Promise<void> {
    const ids = await host.setFaults(...holdAnyStep(this.#dice));
    const tired = performance.now() + 6_000;
    while (!until.aborted && performance.now() < tired && !(await host.hasActed(ids))) {
      await this.#dice.pause(40, 80, until);
    }
    await host.kill();
    await host.clearFaults();
    await this.#dice.pause(0, 6_000, until);
    if (host.agent === undefined) {
      host.start();
    }
  }

  async #restart(host: Host, until: AbortSignal): Promise<void> {
    const { agent } = host;
    agent?.stop();
    const bored = this.#dice.pause(2_000, 9_000, until);
    await Promise.race([agent?.ended, bored]);
    await host.kill();
    host.start();
  }

  async #freeze(host: Host, until: AbortSignal, low: number, high: number): Promise<void> {
    host.agent?.freeze();
    await this.#dice.pause(low, high, until);
    host.thaw();
  }

  /** Lets another agent take the host while the first one is frozen; the first must notice when it resumes. */
  async #replaceFrozen(host: Host, until: AbortSignal): Promise<void> {
    const { agent } = host;
    agent?.freeze();
    await this.#dice.pause(LEASE, LEASE + 3_000, until);
    if (agent?.frozen) {
      host.start();
    }
    await this.#dice.pause(0, 5_000, until);
    if (agent?.frozen) {
      agent.thaw();
    }
  }

  async #partition(host: Host, until: AbortSignal): Promise<void> {
    const milliseconds = this.#dice.between(5, 150) * 100;
    await host.setFaults(partition(milliseconds));
    await this.#dice.pause(milliseconds, milliseconds, until);
  }

  async #setFault(): Promise<void> {
    const host = this.#dice.pick(this.#world.hosts);
    const faultRule = drawFault(this.#options.faults, this.#dice);
    if (host === undefined || faultRule === undefined) {
      return;
    }
    this.#note("fault", `${host.name} ${formatFaultRule(faultRule)}`);
    await host.setFaults(faultRule);
  }

  async #harmControlPlane(until: AbortSignal): Promise<void> {
    const { controlPlane } = this.#world;
    if (controlPlane.harmed) {
      return;
    }
    const name = this.#dice.chance(0.6) ? KILL_CONTROL_PLANE : "freeze control plane";
    if (this.#options.without.includes(name)) {
      return;
    }
    controlPlane.harmed = true;
    this.#note(name, "");
    if (name === KILL_CONTROL_PLANE) {
      await controlPlane.kill();
      await this.#dice.pause(0, 3_000, until);
      await controlPlane.start();
    } else {
      controlPlane.freeze();
      await this.#dice.pause(200, 4_000, until);
      controlPlane.thaw();
    }
    controlPlane.harmed = false;
  }

  #note(name: string, what: string): void {
    this.#world.journal.count(`~ ${name}`, "done");
    this.#world.journal.note("adversary", `${name} ${what}`);
  }
}
