import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { type FaultRule, parseFaultRule } from "../../src/faults/faults.js";
import type { Dice } from "./dice.js";
import type { FaultMood } from "./options.js";

/**
 * Methods of the driver that change a guest. Other methods run at start-up or in periodic tasks, where a fault may
 * rightly end the agent.
 */
const DRIVER_METHODS = [
  "spawn",
  "destroy",
  "powerOff",
  "powerOn",
  "reboot",
  "pause",
  "unpause",
  "suspend",
  "resume",
  "rescue",
  "unrescue",
  "snapshot",
  "migrateDiskAndPowerOff",
  "finishMigration",
  "confirmMigration",
  "finishRevertMigration",
  "preLiveMigration",
  "liveMigration",
  "postLiveMigrationAtDestination",
];

const STEPS = [...AGENT_FAULTS.keys()].filter((point) => point.startsWith("agent."));
const DRIVER = DRIVER_METHODS.map((method) => `driver.${method}`).filter((point) => AGENT_FAULTS.has(point));
const PLACEMENT = [
  "placement",
  "placement.put",
  "placement.post",
  "placement.put.allocations",
  "placement.post.allocations",
];

/** Delays without errors. */
const SLOW: readonly (readonly [readonly string[], readonly string[]])[] = [
  [DRIVER, ["slow:2s:once", "slow:700ms:2", "hang:4s:once"]],
  [STEPS, ["slow:1s:once", "slow:300ms:3", "hang:3s:once"]],
  [PLACEMENT, ["slow:800ms:4", "slow:3s:once", "409:2"]],
];

/** Errors, and completed work whose response is lost. */
const FAILING: readonly (readonly [readonly string[], readonly string[]])[] = [
  [DRIVER, ["fail:once", "lose-answer:once"]],
  [STEPS, ["fail:once"]],
  [PLACEMENT, ["refuse:3", "lose-answer:once", "refuse:once"]],
];

/** Returns undefined for no fault. */
export function drawFault(mood: FaultMood, dice: Dice): FaultRule | undefined {
  if (mood === "none") {
    return undefined;
  }
  const kinds = mood === "slow" ? SLOW : [...SLOW, ...FAILING];
  const [points = [], settings = []] = dice.pick(kinds) ?? [];
  return parseFaultRule(`${dice.pick(points)}=${dice.pick(settings)}`, AGENT_FAULTS);
}

/** Creates hangs at several steps, so that an operation stops at one of them. */
export function holdAnyStep(dice: Dice): readonly FaultRule[] {
  const points = new Set(Array.from({ length: 12 }, () => dice.pick([...STEPS, ...DRIVER])));
  return [...points].map((point) => parseFaultRule(`${point}=hang:9s:once`, AGENT_FAULTS));
}

/** Creates a partition between agent and control plane for this many milliseconds. */
export function partition(milliseconds: number): FaultRule {
  return { point: "conductor", action: { kind: "partition", milliseconds }, times: null };
}
