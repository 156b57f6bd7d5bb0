import { afterAll, beforeAll, describe, test } from "vitest";
import { CONTRACT } from "./contract/index.js";
import { HOW_TO_INSTALL, isInstalled, type RealIronic, startRealIronic } from "./real-ironic.js";

let ironic: RealIronic;

beforeAll(async () => {
  if (!isInstalled()) {
    throw new Error(HOW_TO_INSTALL);
  }
  ironic = await startRealIronic({ deployDelay: 1, powerDelay: 1, cleanDelay: 1 });
});

afterAll(async () => {
  await ironic?.stop();
});

// Concurrent, since each case has its own nodes and mostly waits for hardware.
describe.concurrent.each(Object.entries(CONTRACT))("the real Ironic keeps the contract: %s", (_topic, cases) => {
  test.each(cases.map((item) => [item.name, item] as const))("%s", async (_name, { run }) => {
    await run(ironic);
  });
});
