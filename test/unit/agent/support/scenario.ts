import { test } from "vitest";
import { checkInvariants } from "../../../fixtures/invariants.js";
import { Lab } from "./lab.js";

/**
 * A test on a fresh {@link Lab}, after which the invariants are checked.
 * @param upstreamBreaks invariants that the upstream behaviour under test is known to break.
 */
export function scenario(
  name: string,
  body: (lab: Lab) => Promise<void>,
  upstreamBreaks: readonly string[] = [],
): void {
  test(name, async () => {
    const lab = await Lab.create();
    await body(lab);
    checkInvariants(lab, upstreamBreaks);
  });
}
