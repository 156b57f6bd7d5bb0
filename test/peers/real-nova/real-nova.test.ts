import { afterAll, beforeAll, describe, vi } from "vitest";
import { baremetalCases } from "./baremetal-cases.js";
import { brokerCases } from "./broker-cases.js";
import { hasPeer } from "./control-plane.js";
import { faultCases } from "./fault-cases.js";
import { goldenCases } from "./golden-cases.js";
import { hostCases } from "./host-cases.js";
import { mixedCases } from "./mixed-cases.js";
import { outageCases } from "./outage-cases.js";
import { RealNova } from "./real-nova.js";
import { secretCases } from "./secret-cases.js";
import { serverCases } from "./server-cases.js";
import { storyCases } from "./story-cases.js";

/**
 * `1`: all, with a sample of kills in the middle of operations; `R2`: kills alone, as many as `REAL_NOVA_KILLS` says.
 */
const asked = process.env.REAL_NOVA ?? "";

// Each waits for conditions, on a machine of whatever speed: whoever runs them has a limit for all.
const TIMEOUT = 900_000;
vi.setConfig({ testTimeout: TIMEOUT, hookTimeout: TIMEOUT });

// Not with the other peers until it has been seen to pass from one end to the other.
describe.skipIf(!hasPeer || asked === "")("a real Nova", () => {
  let nova: RealNova;
  beforeAll(async () => {
    nova = await RealNova.start();
  });
  afterAll(() => nova?.stop());
  const cloud = () => nova;

  // One control plane serves all of them: it needs half a minute to start.
  if (asked === "R2") {
    faultCases(cloud);
    return;
  }
  goldenCases(cloud);
  serverCases(cloud);
  hostCases(cloud);
  storyCases(cloud);
  mixedCases(cloud);
  brokerCases(cloud);
  baremetalCases(cloud);
  outageCases(cloud);
  faultCases(cloud);
  secretCases(cloud);
});
