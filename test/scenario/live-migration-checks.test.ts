import { expect } from "vitest";
import { MigrationPreCheckError } from "../../src/virt/errors.js";
import { placeVm, startHosts } from "../fixtures/cold-moves.js";
import { LiveHypervisors, REQUEST, VM } from "../fixtures/live-migrations.js";
import type { Lab } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

function check(lab: Lab, blockMigration: boolean | null = null) {
  const params = { instanceUuid: VM, migrationId: 1, blockMigration, diskOverCommit: false, requestId: REQUEST };
  const { bus } = lab.controlPlane.conductor;
  return lab.world.runUntil(
    bus.call("devstack2", "check_can_live_migrate_destination", params, { requestId: REQUEST }),
  );
}
const methods = (lab: Lab, host: string) => lab.hypervisor(host).calls.map(({ method }) => method);

scenario("6.5 row 4 D is asked, then S by way of D, and what was made for it is removed", async (lab) => {
  await new LiveHypervisors(lab).start();
  await placeVm(lab, { taskState: "migrating" });
  expect(await check(lab)).toEqual({
    blockMigration: true,
    sharedInstanceFiles: false,
    asked: "devstack2",
    answered: "devstack1",
  });
  expect(methods(lab, "devstack1")).toContain("checkCanLiveMigrateSource");
  expect(methods(lab, "devstack2").at(-1)).toBe("cleanupLiveMigrationDestinationCheck");
});

scenario("6.5 row 4 D refuses: MigrationPreCheckError with the reason, S is not asked", async (lab) => {
  await new LiveHypervisors(lab).start();
  await placeVm(lab, { taskState: "migrating" });
  lab
    .hypervisor("devstack2")
    .failures.set("checkCanLiveMigrateDestination", () => new MigrationPreCheckError("another processor"));
  await expect(check(lab)).rejects.toMatchObject({
    name: "MigrationPreCheckError",
    message: expect.stringContaining("another processor"),
  });
  expect(methods(lab, "devstack1")).not.toContain("checkCanLiveMigrateSource");
});

scenario("6.5 row 4 S refuses: the same, and D is cleaned", async (lab) => {
  await new LiveHypervisors(lab).start();
  await placeVm(lab, { taskState: "migrating" });
  lab
    .hypervisor("devstack1")
    .failures.set("checkCanLiveMigrateSource", () => new MigrationPreCheckError("a device cannot move"));
  await expect(check(lab)).rejects.toMatchObject({
    name: "MigrationPreCheckError",
    message: expect.stringContaining("a device cannot move"),
  });
  expect(methods(lab, "devstack2").at(-1)).toBe("cleanupLiveMigrationDestinationCheck");
});

scenario("6.5 row 4 S is away: MigrationPreCheckError", async (lab) => {
  const { source } = await new LiveHypervisors(lab).start();
  await placeVm(lab, { taskState: "migrating" });
  lab.kill(source);
  await expect(check(lab)).rejects.toMatchObject({ name: "MigrationPreCheckError" });
});

scenario("6.5 row 4 a driver that migrates nothing live: MigrationPreCheckError", async (lab) => {
  await startHosts(lab);
  await placeVm(lab, { taskState: "migrating" });
  await expect(check(lab)).rejects.toMatchObject({ name: "MigrationPreCheckError" });
});
