import { expect, test } from "vitest";
import { RACES, raceBeforeEachCall } from "../unit/agent/support/startup-races.js";

/** A sample of a start's calls, different for each race; `npm run test:matrix` runs all of them. */
Object.keys(RACES).forEach((name, index) => {
  test(`9.2, 9.4 every instance ${name} before a call of start-up: the host serves`, async () => {
    expect(await raceBeforeEachCall(name, { first: index, each: 58 })).toBeGreaterThan(60);
  });
});
