import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { formatFaultRule, parseFaultRule } from "../../src/faults/faults.js";
import type { Stage } from "./actors.js";
import { drawErrand, run } from "./tenant.js";

/** The agent operations and driver methods of each API operation. */
const BEHIND: Readonly<Record<string, readonly (readonly [operation: string, ...methods: string[]])[]>> = {
  delete: [["terminate_instance", "destroy"]],
  stop: [["stop_instance", "powerOff"]],
  start: [["start_instance", "powerOn"]],
  reboot: [["reboot_instance", "reboot"]],
  rebuild: [["rebuild_instance", "destroy", "spawn"]],
  rescue: [["rescue_instance", "rescue"]],
  shelve: [
    ["shelve_instance", "powerOff", "snapshot"],
    ["shelve_offload_instance", "destroy"],
  ],
  offload: [["shelve_offload_instance", "destroy"]],
  unshelve: [["unshelve_instance", "spawn"]],
  resize: [["prep_resize"], ["resize_instance", "migrateDiskAndPowerOff"], ["finish_resize", "finishMigration"]],
  migrate: [["prep_resize"], ["resize_instance", "migrateDiskAndPowerOff"], ["finish_resize", "finishMigration"]],
  confirm: [["confirm_resize", "confirmMigration"], ["settle_confirmed"]],
  revert: [
    ["revert_resize", "destroy"],
    ["finish_revert_resize", "finishRevertMigration"],
  ],
  "live migrate": [
    ["live_migration", "preLiveMigration", "liveMigration"],
    ["post_live_migration", "postLiveMigration", "postLiveMigrationAtSource"],
    ["post_live_migration_at_destination", "postLiveMigrationAtDestination"],
  ],
};

/**
 * Operations whose failure does not leak allocations that only a repair would find (spec 9.3), whichever operation
 * meets the fault.
 */
const LEAKS_NOTHING = /^(confirm|reboot|rescue)$/;

/** Requests an operation, and makes one of its steps fail or hang on all hosts. */
export async function meetTrouble(stage: Stage): Promise<void> {
  const { cluster, dice, journal } = stage;
  const errand = await drawErrand(stage);
  if (errand === undefined) {
    return;
  }
  const { name } = errand.operation;
  const mayFail = cluster.plan.deployment.repairs || LEAKS_NOTHING.test(name);
  const [operation = "", ...methods] = dice.pick(BEHIND[name] ?? []) ?? [];
  const steps = [...AGENT_FAULTS.keys()].filter((point) => point.startsWith(`agent.${operation}.`));
  const late = dice.chance(0.3) || methods.length === 0 || !mayFail;
  const point = late ? dice.pick(steps) : `driver.${dice.pick(methods)}`;
  // A failing step is not a driver failure, and leaks allocations that only a repair finds.
  const setting = late ? dice.pick(["slow:1s", "hang:9s"]) : dice.pick(["fail", "fail", "lose-answer", "hang:20s"]);
  if (point !== undefined && AGENT_FAULTS.has(point)) {
    const faultRule = parseFaultRule(`${point}=${setting}:once`, AGENT_FAULTS);
    journal.note("world", `fault for ${name}: ${formatFaultRule(faultRule)}`, errand.server);
    for (const { agent } of cluster.hosts) {
      agent?.faults.set(faultRule);
    }
  }
  await run(stage, errand);
}
