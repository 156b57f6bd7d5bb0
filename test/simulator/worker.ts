import type { SeedOptions } from "./options.js";
import { blockRealIo } from "./real-io.js";
import { runSeed } from "./run-seed.js";

const { now } = performance;
const real = now.bind(performance);

// A process that does nothing but simulate: nobody in it needs the real world.
blockRealIo();
process.on("message", ({ seed, options }: { readonly seed: number; readonly options: SeedOptions }) => {
  void runSeed(seed, options, real).then(
    (result) => process.send?.(result),
    (error: unknown) =>
      process.send?.({ seed, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
