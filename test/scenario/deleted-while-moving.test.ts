import { expect } from "vitest";
import { castPrep, heldBy, prepareMove, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Lab } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** As an API does it, or an agent, while the conductor and the scheduler are at work on a move of it. */
function isDeleted(lab: Lab): void {
  lab.store.instances.save(VM, { vmState: "deleted", taskState: null });
  lab.store.instances.destroy(VM);
}

scenario("6.3 row 4: deleted before the scheduler claimed D: both halves go when D hears of the move", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab);
  isDeleted(lab);
  castPrep(move);
  await lab.world.advance(1_000);
  expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
});

scenario("4.6 row 3: deleted while nobody went on with the move: both halves go with the next passes", async (lab) => {
  await startHosts(lab, { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
  const move = await prepareMove(lab);
  isDeleted(lab);
  await lab.world.advance(3 * 60_000);
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
});
