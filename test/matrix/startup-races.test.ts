import { expect, test } from "vitest";
import { RACES, raceBeforeEachCall } from "../unit/agent/support/startup-races.js";

for (const name of Object.keys(RACES)) {
  test(`9.2, 9.4 every instance ${name} before each call of start-up: the host serves`, async () => {
    expect(await raceBeforeEachCall(name)).toBeGreaterThan(60);
  });
}
