import { expect } from "vitest";
import { castPrep, heldBy, prepareMove, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Deletes the instance as an API or an agent does, while the conductor and the scheduler are moving it. */
function isDeleted(harness: Harness): void {
  harness.store.instances.save(VM, { vmState: "deleted", taskState: null });
  harness.store.instances.destroy(VM);
}

scenario(
  "6.3 row 4: deleted before the scheduler claimed D: both halves go when D hears of the move",
  async (harness) => {
    await startHosts(harness);
    const move = await prepareMove(harness);
    isDeleted(harness);
    castPrep(move);
    await harness.world.advance(1_000);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
  },
);

scenario(
  "4.6 row 3: deleted while nobody went on with the move: both halves go with the next passes",
  async (harness) => {
    await startHosts(harness, { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
    const move = await prepareMove(harness);
    isDeleted(harness);
    await harness.world.advance(3 * 60_000);
    expect(statusOf(move)).toBe("error");
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
  },
);
