import { expect, test } from "vitest";
import { breachedInvariants } from "../../../fixtures/invariants.js";
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
    const breaches = breachedInvariants(lab.evidence, lab.store);
    expect(breaches.filter((breach) => !upstreamBreaks.some((id) => breach.startsWith(`${id} `)))).toEqual([]);
    // A quirk that breaks nothing is a quirk that does nothing.
    for (const id of upstreamBreaks) {
      expect(breaches.some((breach) => breach.startsWith(`${id} `))).toBe(true);
    }
  });
}
