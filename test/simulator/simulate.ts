import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogRecord } from "../../src/simulation/virtual-logger.js";
import { GoalNotReached } from "../../src/simulation/virtual-world.js";
import { Dice } from "../chaos/dice.js";
import type { Stage } from "./actors.js";
import { delayListings, disturbIronicNetwork } from "./bare-metal/network.js";
import { disturbIronic, disturbNode, killIronicAgent } from "./bare-metal/nodes.js";
import { actOnMetal, createOnMetal } from "./bare-metal/tenant.js";
import { Client } from "./client.js";
import { Witness } from "./histories/witness.js";
import { killAgent, killControlPlane, setFault, stopAgent, twinAgent } from "./ill-will.js";
import { impostor } from "./impostors.js";
import { Journal } from "./journal.js";
import { labelServer } from "./labels.js";
import { disturbClocks, losePower, troubleDisk } from "./machine-trouble.js";
import { controlMove } from "./move-control.js";
import { disturbMessages, partition } from "./network-trouble.js";
import { changeNetwork } from "./networks.js";
import { changeAggregate, deleteService, evacuateOne, fence, forceUp, setStatus } from "./operator.js";
import { type Breach, checkHistories, checkSteps } from "./oracle.js";
import type { Plan, StepKind } from "./plan.js";
import { auditAndApply, heal } from "./repairs.js";
import { retireHost } from "./retirement.js";
import { resetState, restoreServer, saveImage } from "./second-thoughts.js";
import { settle } from "./settle.js";
import { SimulatedCluster } from "./simulated-cluster.js";
import { actOnServer, createServer, deleteAny } from "./tenant.js";
import { meetTrouble } from "./trouble.js";

/** The result of a plan. */
export interface Outcome {
  readonly breaches: readonly Breach[];
  /** The hash of all events and log messages; it is the same in every run of the plan. */
  readonly hash: string;
  readonly lines: readonly string[];
  readonly logs: readonly LogRecord[];
  /** Milliseconds. */
  readonly virtualTime: number;
  /** Operation → the number of acknowledged requests. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Returns the last events of a server, by uuid. */
  readonly historyOf: (server: string) => readonly string[];
}

/** A folder in memory, if available: the files of a simulation need not be durable. */
const MEMORY = "/dev/shm";

/** Milliseconds. */
const HOUR = 3_600_000;

const ACTIONS: Readonly<Record<StepKind, (stage: Stage) => Promise<void>>> = {
  create: createServer,
  act: actOnServer,
  delete: deleteAny,
  label: labelServer,
  fence,
  evacuate: evacuateOne,
  "force-up": forceUp,
  disable: (stage) => setStatus(stage, stage.dice.pick(stage.cluster.hosts), "disabled"),
  enable: (stage) => setStatus(stage, stage.dice.pick(stage.cluster.hosts), "enabled"),
  "delete-service": deleteService,
  aggregate: changeAggregate,
  retire: retireHost,
  audit: auditAndApply,
  heal,
  "kill-agent": killAgent,
  "stop-agent": stopAgent,
  "twin-agent": twinAgent,
  impostor,
  machine: losePower,
  disk: troubleDisk,
  "kill-control-plane": killControlPlane,
  partition,
  message: disturbMessages,
  fault: setFault,
  clock: disturbClocks,
  trouble: meetTrouble,
  "create-bare-metal": createOnMetal,
  "act-bare-metal": actOnMetal,
  "kill-ironic-agent": killIronicAgent,
  node: disturbNode,
  "ironic-fault": disturbIronic,
  "control-move": controlMove,
  "save-image": saveImage,
  restore: restoreServer,
  "reset-state": resetState,
  "ironic-network": disturbIronicNetwork,
  "ironic-listing": delayListings,
  network: changeNetwork,
};

/**
 * Runs a plan in virtual time: the deployment, the steps, and then a period without faults in which all rules must
 * become fulfilled.
 */
export async function simulate(plan: Plan): Promise<Outcome> {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "compute-agent-simulate-"));
  const cluster = new SimulatedCluster(plan, folder);
  const { world } = cluster;
  const journal = new Journal(world);
  const began = world.now;
  const runtime = cluster.spawn("people");
  const witness = new Witness(cluster.ticks);
  const client = new Client(runtime, cluster.cloudsFile, witness);
  const peace: Stage = { cluster, client, witness, journal, runtime, dice: new Dice(`peace/${plan.seed}`) };
  const failures: Breach[] = [];
  const within = async <T>(limit: number, goal: Promise<T>, what: () => string): Promise<T | undefined> => {
    try {
      return await world.runUntil(goal, { limit });
    } catch (error) {
      const message = error instanceof GoalNotReached ? what() : String(error);
      failures.push({ rule: "everything ends", subject: "world", what: message });
      return undefined;
    }
  };
  try {
    await within(HOUR, cluster.open(journal), () => "the cluster did not start");
    const start = runtime.clock.monotonic();
    const underWay = new Set<string>();
    const stepRuns = plan.steps.map(async ({ number, at, kind }) => {
      await runtime.timers.sleep(at - (runtime.clock.monotonic() - start));
      underWay.add(`step ${number}, ${kind}`);
      try {
        await ACTIONS[kind]({ ...peace, dice: new Dice(`step/${plan.seed}/${number}`) });
      } catch (error) {
        const what = `${kind}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
        failures.push({ rule: "nothing fails", subject: `${kind}`, what });
        journal.note("world", `FAILURE ${what}`);
      }
      underWay.delete(`step ${number}, ${kind}`);
    });
    await within(plan.duration + HOUR, Promise.all(stepRuns), () => `did not end: ${[...underWay].join("; ")}`);
    const atRest = (await within(3 * HOUR, settle(peace), () => "peace did not come")) ?? [];
    const breaches = [...failures, ...checkSteps(cluster), ...atRest, ...checkHistories(cluster, witness)];
    return {
      breaches,
      hash: journal.hash(),
      lines: journal.lines,
      logs: world.logs,
      virtualTime: world.now - began,
      acknowledged: journal.acknowledged,
      historyOf: (server) => journal.historyOf(server),
    };
  } finally {
    cluster.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
