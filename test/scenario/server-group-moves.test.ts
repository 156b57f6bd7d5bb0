import { describe, expect } from "vitest";
import { castPrep, heldBy, OLD, prepareMove, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { addInstance, placed, uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const OTHER = uuidOf(2);

/** Creates a group of the moving server and of one that is already running. */
async function group(
  harness: Harness,
  policy: "anti-affinity" | "affinity",
  { host = "devstack2", maxServerPerHost = 0 } = {},
): Promise<string> {
  const node = nodeOf(harness, host);
  addInstance(harness.store, OTHER, placed(node));
  harness.hypervisor(host).addGuest(OTHER, 1);
  await harness.hold(OTHER, { [node.uuid]: OLD });
  const owner = { projectId: "project", userId: "user", name: "apart" };
  const { id, uuid } = harness.store.serverGroups.create({ ...owner, policy, maxServerPerHost });
  for (const member of [VM, OTHER]) {
    harness.store.serverGroups.addMember(id, member, "user");
  }
  return uuid;
}

describe("6.9 row 5 the destination of a cold migration", () => {
  for (const [policy, host, message] of [
    ["anti-affinity", "devstack2", "Anti-affinity instance group policy was violated"],
    ["affinity", "devstack1", "Affinity instance group policy was violated"],
  ] as const) {
    scenario(`breaks the ${policy} of its group: the server is as it was`, async (harness) => {
      await startHosts(harness);
      const serverGroup = await group(harness, policy, { host });
      const move = await prepareMove(harness, { type: "migration" });
      castPrep(move, { serverGroup });
      await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
      expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
      expect(statusOf(move)).toBe("error");
      expect(harness.store.instances.fault(VM)?.message).toContain(message);
      expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
    });
  }

  for (const [why, policy, options] of [
    ["may have two members", "anti-affinity", { maxServerPerHost: 2 }],
    ["is where the others are", "affinity", {}],
    ["has none", "anti-affinity", { host: "devstack1" }],
  ] as const) {
    scenario(`${why}: the server comes`, async (harness) => {
      await startHosts(harness);
      const serverGroup = await group(harness, policy, options);
      const move = await prepareMove(harness, { type: "migration" });
      castPrep(move, { serverGroup });
      await harness.world.runUntil(() => harness.instance(VM).vmState === "resized");
      expect(harness.instance(VM).host).toBe("devstack2");
    });
  }

  scenario("does not hold it to a group that is deleted meanwhile", async (harness) => {
    await startHosts(harness);
    const serverGroup = await group(harness, "anti-affinity");
    const move = await prepareMove(harness, { type: "migration" });
    harness.store.serverGroups.destroy(serverGroup);
    castPrep(move, { serverGroup });
    await harness.world.runUntil(() => statusOf(move) === "finished");
    expect(harness.instance(VM).host).toBe("devstack2");
  });
});
