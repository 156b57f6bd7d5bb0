import { expect } from "vitest";
import { MigrationPreCheckError } from "../../src/virt/errors.js";
import { placeVm, startHosts } from "../fixtures/cold-moves.js";
import { LiveHypervisors, REQUEST, VM } from "../fixtures/live-migrations.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

function check(harness: Harness, blockMigration: boolean | null = null) {
  const params = { instanceUuid: VM, migrationId: 1, blockMigration, diskOverCommit: false, requestId: REQUEST };
  const { bus } = harness.controlPlane.conductor;
  return harness.world.runUntil(
    bus.call("devstack2", "check_can_live_migrate_destination", params, { requestId: REQUEST }),
  );
}
const methods = (harness: Harness, host: string) => harness.hypervisor(host).calls.map(({ method }) => method);

scenario("6.5 row 4 D is asked, then S by way of D, and what was made for it is removed", async (harness) => {
  await new LiveHypervisors(harness).start();
  await placeVm(harness, { taskState: "migrating" });
  expect(await check(harness)).toEqual({
    blockMigration: true,
    sharedInstanceFiles: false,
    destinationHost: "devstack2",
    sourceHost: "devstack1",
  });
  expect(methods(harness, "devstack1")).toContain("checkCanLiveMigrateSource");
  expect(methods(harness, "devstack2").at(-1)).toBe("cleanupLiveMigrationDestinationCheck");
});

scenario("6.5 row 4 D refuses: MigrationPreCheckError with the reason, S is not asked", async (harness) => {
  await new LiveHypervisors(harness).start();
  await placeVm(harness, { taskState: "migrating" });
  harness
    .hypervisor("devstack2")
    .failures.set("checkCanLiveMigrateDestination", () => new MigrationPreCheckError("another processor"));
  await expect(check(harness)).rejects.toMatchObject({
    name: "MigrationPreCheckError",
    message: expect.stringContaining("another processor"),
  });
  expect(methods(harness, "devstack1")).not.toContain("checkCanLiveMigrateSource");
});

scenario("6.5 row 4 S refuses: the same, and D is cleaned", async (harness) => {
  await new LiveHypervisors(harness).start();
  await placeVm(harness, { taskState: "migrating" });
  harness
    .hypervisor("devstack1")
    .failures.set("checkCanLiveMigrateSource", () => new MigrationPreCheckError("a device cannot move"));
  await expect(check(harness)).rejects.toMatchObject({
    name: "MigrationPreCheckError",
    message: expect.stringContaining("a device cannot move"),
  });
  expect(methods(harness, "devstack2").at(-1)).toBe("cleanupLiveMigrationDestinationCheck");
});

scenario("6.5 row 4 S is away: MigrationPreCheckError", async (harness) => {
  const { source } = await new LiveHypervisors(harness).start();
  await placeVm(harness, { taskState: "migrating" });
  harness.kill(source);
  await expect(check(harness)).rejects.toMatchObject({ name: "MigrationPreCheckError" });
});

scenario("6.5 row 4 a driver that migrates nothing live: MigrationPreCheckError", async (harness) => {
  await startHosts(harness);
  await placeVm(harness, { taskState: "migrating" });
  await expect(check(harness)).rejects.toMatchObject({ name: "MigrationPreCheckError" });
});
