import { describe, expect } from "vitest";
import { castPrep, heldBy, OLD, prepareMove, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Lab } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { addInstance, placed, uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const OTHER = uuidOf(2);

/** A group of the server that moves and of one that runs already. */
async function group(
  lab: Lab,
  policy: "anti-affinity" | "affinity",
  { host = "devstack2", maxServerPerHost = 0 } = {},
): Promise<string> {
  const node = nodeOf(lab, host);
  addInstance(lab.store, OTHER, placed(node));
  lab.hypervisor(host).addGuest(OTHER, 1);
  await lab.hold(OTHER, { [node.uuid]: OLD });
  const owner = { projectId: "project", userId: "user", name: "apart" };
  const { id, uuid } = lab.store.serverGroups.create({ ...owner, policy, maxServerPerHost });
  for (const member of [VM, OTHER]) {
    lab.store.serverGroups.addMember(id, member, "user");
  }
  return uuid;
}

describe("6.9 row 5 the destination of a cold migration", () => {
  for (const [policy, host, message] of [
    ["anti-affinity", "devstack2", "Anti-affinity instance group policy was violated"],
    ["affinity", "devstack1", "Affinity instance group policy was violated"],
  ] as const) {
    scenario(`breaks the ${policy} of its group: the server is as it was`, async (lab) => {
      await startHosts(lab);
      const serverGroup = await group(lab, policy, { host });
      const move = await prepareMove(lab, { type: "migration" });
      castPrep(move, { serverGroup });
      await lab.world.runUntil(() => lab.store.instances.fault(VM) !== null);
      expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
      expect(statusOf(move)).toBe("error");
      expect(lab.store.instances.fault(VM)?.message).toContain(message);
      expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
    });
  }

  for (const [why, policy, options] of [
    ["may have two members", "anti-affinity", { maxServerPerHost: 2 }],
    ["is where the others are", "affinity", {}],
    ["has none", "anti-affinity", { host: "devstack1" }],
  ] as const) {
    scenario(`${why}: the server comes`, async (lab) => {
      await startHosts(lab);
      const serverGroup = await group(lab, policy, options);
      const move = await prepareMove(lab, { type: "migration" });
      castPrep(move, { serverGroup });
      await lab.world.runUntil(() => lab.instance(VM).vmState === "resized");
      expect(lab.instance(VM).host).toBe("devstack2");
    });
  }

  scenario("does not hold it to a group that is deleted meanwhile", async (lab) => {
    await startHosts(lab);
    const serverGroup = await group(lab, "anti-affinity");
    const move = await prepareMove(lab, { type: "migration" });
    lab.store.serverGroups.destroy(serverGroup);
    castPrep(move, { serverGroup });
    await lab.world.runUntil(() => statusOf(move) === "finished");
    expect(lab.instance(VM).host).toBe("devstack2");
  });
});
