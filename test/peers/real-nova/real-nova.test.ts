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
/** `1`; `all`: with a real nova-compute beside the agents, and a broker and a conductor that die. */
const asked = process.env.REAL_NOVA ?? "";

// Not with the other peers until it has been seen to pass from one end to the other.
describe.skipIf(!hasPeer || asked === "")("a real Nova", () => {
  let nova: RealNova;
  beforeAll(async () => {
    nova = await RealNova.start();
  });
  afterAll(() => nova?.stop());
  const cloud = () => nova;

  goldenCases(cloud);
  serverCases(cloud);
  hostCases(cloud);
  if (asked === "all") {
    mixedCases(cloud);
    outageCases(cloud);
  }
  secretCases(cloud);
});
