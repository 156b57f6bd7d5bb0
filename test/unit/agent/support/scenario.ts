import { test } from "vitest";
import { Harness } from "./harness.js";

/**
 * A test on a fresh {@link Harness}, whose invariants are checked after every step.
 * @param upstreamBreaks invariants that the upstream behaviour under test is known to break.
 */
export function scenario(
  name: string,
  body: (harness: Harness) => Promise<void>,
  upstreamBreaks: readonly string[] = [],
): void {
  test(name, async () => {
    await body(await Harness.create({ upstreamBreaks }));
  });
}
