import type { SeedOptions } from "./options.js";
import { blockRealIo } from "./real-io.js";
import { runSeed } from "./run-seed.js";

const { now } = performance;
const real = now.bind(performance);

// This process only simulates, so nothing in it needs real I/O.
blockRealIo();
process.on("message", ({ seed, options }: { readonly seed: number; readonly options: SeedOptions }) => {
  void runSeed(seed, options, real).then(
    (result) => process.send?.(result),
    (error: unknown) =>
      process.send?.({ seed, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
