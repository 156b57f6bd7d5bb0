import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { expectAsRecorded } from "../process/golden/manage.js";
import { HOSTS, optionsOf, RecordedStory } from "../process/golden/recorded-story.js";
import { filesBelow } from "../process/support/files-below.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import type { Program } from "../process/support/program.js";

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await LocalCloud.start("--allow-resize-to-same-host");
});
afterEach(() => cloud.dispose());

function startAgent(host: string): Promise<Program> {
  const options = ["fake_libvirt.delay_live_migration=2", ...optionsOf(host)];
  return cloud.startAgent(host, { args: options.flatMap((option) => ["-o", option]) });
}

it("moves, cleanups and repairs have the results recorded from the real Nova, a01 to a28", async () => {
  const agents = new Map(
    await Promise.all(HOSTS.map(async (host) => [host as string, await startAgent(host)] as const)),
  );
  const story = new RecordedStory({
    cloud,
    kill: async (host) => agents.get(host)?.kill(),
    expectAsRecorded: (name, ...args) => expectAsRecorded(cloud, name, ...args),
  });
  await story.coldMovesAndResizes();
  await story.liveMigrations();
  await story.rejectServiceDeletes();
  await story.evacuation();
  await story.orphanedAllocations();

  // Nova destroyed the guest of a host whose service was deleted (a28); here its ownership cannot be proved (2.4 G10).
  const hypervisor = join(cloud.stateDir, "hypervisors", "devstack1");
  const guests = await filesBelow(hypervisor);
  const back = await cloud.startAgent("devstack1", { wait: false });
  expect((await back.exited).code).toBe(3);
  expect(back.stdout + back.stderr).toContain(story.vm1);
  await story.golden.reaches("a27");
  expect(await filesBelow(hypervisor)).toEqual(guests);
  await expectAsRecorded(cloud, "audit-after-return", "audit");
});
