import { test } from "vitest";
import { Lab } from "./harness.js";

/**
 * A test on a fresh {@link Lab}, whose invariants are checked after every step.
 * @param upstreamBreaks invariants that the upstream behaviour under test is known to break.
 */
export function scenario(
  name: string,
  body: (lab: Lab) => Promise<void>,
  upstreamBreaks: readonly string[] = [],
): void {
  test(name, async () => {
    await body(await Lab.create({ upstreamBreaks }));
  });
}
