import { test } from "vitest";
import { Harness } from "./harness.js";

/**
 * Defines a test with a new {@link Harness}, whose invariants are checked after every step.
 * @param upstreamBreaks invariants that the tested upstream behaviour is known to violate
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
