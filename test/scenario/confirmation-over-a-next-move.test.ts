import { expect } from "vitest";
import { BIGGER, type ColdMove, castConfirm, resized, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import { FLAVOR } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

for (const [what, meanwhile] of [
  ["waits for its confirmation", () => ({ vmState: "resized" as const, oldFlavor: BIGGER, newFlavor: FLAVOR })],
  ["has brought it back", ({ s }: ColdMove) => ({ host: s.host, node: s.hypervisorHostname, computeId: s.id })],
] as const) {
  scenario(`6.3 OPT Confirm: what fails leaves the server to a next move that ${what}`, async (harness) => {
    await startHosts(harness);
    const move = await resized(harness);
    const { migrationContext: context } = harness.instance(VM);
    const now = meanwhile(move);
    harness.beforePlacement = (host, request) => {
      if (host === "devstack1" && request.endsWith(move.migration.uuid) && request.startsWith("PUT")) {
        harness.store.instances.save(VM, { ...now, migrationContext: context && { ...context, migrationId: 7 } });
        throw new Error("Placement is broken");
      }
    };
    castConfirm(move);
    await harness.world.runUntil(() => statusOf(move) === "error");
    await harness.world.advance(1_000);
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null, ...now });
    expect(harness.store.instances.fault(VM)).toBeNull();
  });
}
