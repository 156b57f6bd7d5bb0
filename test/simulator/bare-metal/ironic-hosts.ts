import { driver } from "../../../drivers/ironic/index.js";
import type { AgentState } from "../../../src/agent/context.js";
import type { ConductorConnection } from "../../../src/conductor-client/port.js";
import { parseIni } from "../../../src/config/ini-file.js";
import { compileNovaConfig } from "../../../src/config/nova-config.js";
import { createFaultyRuntime } from "../../../src/faults/fault-injection.js";
import { FaultSet } from "../../../src/faults/fault-set.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import { VirtualMachine } from "../../../src/simulation/virtual-machine.js";
import type { VirtualWorld } from "../../../src/simulation/virtual-world.js";
import { driverSections } from "../../../src/virt/driver-sections.js";
import { Dice } from "../../chaos/dice.js";
import { testAgent } from "../../fixtures/world/agent.js";
import type { Plan } from "../plan.js";
import { killed, type RunningAgent } from "../running-agent.js";

/** The parts of the cluster that the agents of Ironic's nodes need. */
export interface IronicHostParts {
  readonly plan: Plan;
  readonly world: VirtualWorld;
  /** The file that `compute-agent up` writes for them. */
  readonly configFile: string;
  connect(runtime: Runtime): Promise<ConductorConnection>;
  note(process: string, what: string): void;
  /** Reports an agent that ended unexpectedly. */
  unexplained(what: string): void;
}

export class IronicHost {
  readonly name: string;
  readonly machine: VirtualMachine;
  agent: RunningAgent | null = null;
  /** Whether a temporary disturbance of the host is in progress. */
  harmed = false;

  constructor(name: string, machine: VirtualMachine) {
    this.name = name;
    this.machine = machine;
  }

  get serves(): boolean {
    return this.agent?.agent.state === "serving";
  }
}

/**
 * Checks whether the agent may end unexpectedly: because of the conductor, or another agent of the host, or a failure
 * of Ironic during its start.
 * A real nova-compute also ends when Ironic fails in `init_host`; its service manager restarts it.
 * @internal for tests
 */
export function mayEnd({ name }: Error, before: AgentState): boolean {
  return EXPECTED_EXIT_ERRORS.test(name) || (before !== "serving" && name === "IronicError");
}

const EXPECTED_EXIT_ERRORS = /HostLeaseLost|HostLeaseHeld|AgentStopped|MessagingTimeout/;

/** The hosts that share Ironic's nodes, by tooz's hash ring. */
export class IronicHosts {
  readonly all: readonly IronicHost[];
  /** The uuids of nodes that an operator is temporarily disturbing. */
  readonly disturbed = new Set<string>();
  readonly #parts: IronicHostParts;

  constructor(parts: IronicHostParts) {
    const { plan, world } = parts;
    this.#parts = parts;
    this.all = Array.from({ length: plan.deployment.ironicHosts }, (_, index) => {
      const name = `ironic${index + 1}`;
      return new IronicHost(name, new VirtualMachine(name, world.machine.disk));
    });
  }

  async start(host: IronicHost): Promise<void> {
    const running = await this.#make(host);
    if (running === null) {
      return;
    }
    const { agent, runtime } = running;
    host.agent = running;
    let last = agent.state;
    agent.onState((state) => {
      const { failure } = agent;
      const before = last;
      last = state;
      this.#parts.note(runtime.name, failure === null ? state : `${state}: ${failure.name}: ${failure.message}`);
      if (state === "failed" && failure !== null && !mayEnd(failure, before)) {
        this.#parts.unexplained(`the agent of ${host.name} ended: ${failure.name}: ${failure.message}`);
      }
      if ((state === "failed" || state === "stopped") && host.agent === running) {
        host.agent = null;
      }
    });
    await Promise.race([agent.start().catch(() => undefined), killed(runtime)]);
  }

  kill(host: IronicHost): void {
    host.agent?.runtime.kill();
    host.agent = null;
  }

  /** Returns null if the process was killed before it had connected and read its configuration. */
  async #make({ name, machine }: IronicHost): Promise<RunningAgent | null> {
    const { world, plan, configFile, connect } = this.#parts;
    const bare = world.spawn({ name: `agent-${name}`, machine });
    const faults = new FaultSet(bare);
    const runtime = createFaultyRuntime(bare, faults);
    const connected = Promise.all([connect(runtime), runtime.files.read(configFile)]);
    const parts = await Promise.race([connected, killed(bare)]);
    if (parts === null) {
      return null;
    }
    const [connection, text] = parts;
    const session = connection.host(name);
    const shared = parseIni(text, "agent.conf");
    const own = parseIni(optionsOf(name, plan), "nova.conf");
    const sources = { files: [shared, own], environment: {}, commandLine: [] };
    const compiled = compileNovaConfig(sources, { stateDir: "/cluster", hostname: name }, driverSections(driver));
    return { agent: testAgent({ host: name, compiled, runtime, session, faults, driver }), runtime: bare, faults };
  }
}

/** Returns nova.conf of a host; periodic tasks run at different times on each. */
function optionsOf(name: string, { seed, deployment }: Plan): string {
  const dice = new Dice(`host/${seed}/${name}`);
  return [
    "[DEFAULT]",
    `host = ${name}`,
    `state_path = /state/${name}`,
    `periodic_fuzzy_delay = ${dice.between(0, 10)}`,
    `update_resources_interval = ${dice.pick([0, 20]) ?? 0}`,
    `sync_power_state_interval = ${dice.pick([30, 600]) ?? 30}`,
    "running_deleted_instance_poll_interval = 60",
    "instance_delete_interval = 60",
    `reclaim_instance_interval = ${deployment.reclaimInterval}`,
    "[compute]",
    `reconcile_allocations = ${deployment.repairs ? "repair" : "off"}`,
    "reconcile_interval = 60",
    "[workarounds]",
    "disable_compute_service_check_for_ffu = true",
    `upstream_quirks = ${deployment.quirks.join(",")}`,
    "",
  ].join("\n");
}
