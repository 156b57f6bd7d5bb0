import { afterAll, beforeAll, describe } from "vitest";
import { hasPeer } from "./control-plane.js";
import { goldenCases } from "./golden-cases.js";
import { hostCases } from "./host-cases.js";
import { mixedCases } from "./mixed-cases.js";
import { outageCases } from "./outage-cases.js";
import { RealNova } from "./real-nova.js";
import { secretCases } from "./secret-cases.js";
import { serverCases } from "./server-cases.js";

// One control plane serves all of them: it needs half a minute to start.
describe.skipIf(!hasPeer)("a real Nova", () => {
  let nova: RealNova;
  beforeAll(async () => {
    nova = await RealNova.start();
  });
  afterAll(() => nova?.stop());
  const cloud = () => nova;

  goldenCases(cloud);
  serverCases(cloud);
  hostCases(cloud);
  // No condition until they have been seen to pass from one end to the other.
  if (process.env.REAL_NOVA_ALL === "1") {
    mixedCases(cloud);
    outageCases(cloud);
  }
  secretCases(cloud);
});
