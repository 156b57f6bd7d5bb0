import { beforeAll, describe, expect, it } from "vitest";
import { recordedOutcome, withoutIds } from "../../fixtures/golden-manage.js";
import { HOSTS, optionsOf, RecordedStory } from "../../process/golden/recorded-story.js";
import { filesBelow } from "../../process/support/files-below.js";
import type { Program } from "../../process/support/program.js";
import { hasPeer } from "./control-plane.js";
import type { RealNova } from "./real-nova.js";
import { useRealNova } from "./use-real-nova.js";

/** Needs an unused cloud, since numbers of migrations are compared. */
describe.skipIf(!hasPeer)("the recorded commands, with this project's agents as the only computes", () => {
  const cloud = useRealNova();
  let nova: RealNova;
  let story: RecordedStory;
  beforeAll(async () => {
    nova = cloud();
    const start = (host: string): Promise<Program> =>
      nova.startAgent(host, { options: ["fake_libvirt.delay_live_migration=5", ...optionsOf(host)] });
    const agents = new Map(await Promise.all(HOSTS.map(async (host) => [host as string, await start(host)] as const)));
    await nova.discover();
    story = new RecordedStory({
      cloud: nova,
      kill: async (host) => agents.get(host)?.kill(),
      expectAsRecorded: async (name, ...args) => {
        const { rc, stdout: printed } = await nova.manage("placement", ...args, "--verbose");
        // The peer's substitute for Identity uses the user's name as id.
        const stdout = printed.replace('"user_id": "admin"', `"user_id": "${"0".repeat(32)}"`);
        expect(withoutIds({ rc, stdout }), name).toEqual(recordedOutcome(name));
      },
    });
    return async () => {
      await Promise.all([...agents.values()].map((agent) => agent.kill()));
      await Promise.all(HOSTS.slice(1).map((host) => nova.operator.forceDown(host, true)));
      await nova.remove(story.vm1);
    };
  });

  it("A4: cold migrations and resizes, confirmed and reverted, a01 to a13", () => story.coldMovesAndResizes());
  it("A5: live migrations, also aborted, a14 to a16", () => story.liveMigrations());
  it("A10: a service with servers or unconfirmed moves is not deleted, a17 to a19", () => story.rejectServiceDeletes());
  it("A6: a host dies, is fenced and evacuated, a20 and a21", () => story.evacuation());
  it("A10: the orphaned allocations, removed by hand and by nova-manage, a22 to a27", () =>
    story.orphanedAllocations());

  // Nova destroyed the guest of a host whose service was deleted (a28). Our agent treats such a guest as unknown (2.4
  // G10).
  it("A10: a host with a deleted service does not start while it has a guest", async () => {
    const guests = await filesBelow(nova.hypervisor("devstack1"));
    const back = await nova.startAgent("devstack1", { wait: false });
    expect((await back.exited).code).toBe(3);
    expect(back.stderr).toContain(story.vm1);
    expect(await filesBelow(nova.hypervisor("devstack1"))).toEqual(guests);
    await story.golden.reaches("a27");
  });
});
