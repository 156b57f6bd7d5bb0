import { expect, test } from "vitest";
import { openReplaySession } from "../../../../../src/cli/cluster/record/replay-session.js";
import { exitCodeOf } from "../../../../../src/cli/ui/report-failure.js";
import { stateDir } from "../../../../../src/cluster/local/state-dir.js";
import { createVirtualRuntime } from "../../../../../src/simulation/create-virtual-runtime.js";

test("a cluster that was never started is a wrong argument, as it is for the other commands", async () => {
  const failure = await openReplaySession(createVirtualRuntime(), stateDir("/nowhere", "/")).catch((error) => error);
  expect(failure).toMatchObject({ message: expect.stringContaining("/nowhere has no cluster") });
  expect(exitCodeOf(failure)).toBe(2);
});
