import { expect, it } from "vitest";
import { reportedGuests } from "../../../../src/cli/cluster/reported-guests.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

it("returns no hosts if the conductor is unreachable", async () => {
  const runtime = createVirtualRuntime();
  const directory = stateDir("/st", "/");
  expect(await runtime.runUntil(reportedGuests(["devstack1"], "status", { runtime, directory }))).toEqual(new Map());
});
