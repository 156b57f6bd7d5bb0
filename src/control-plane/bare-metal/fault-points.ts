import { type FaultPoint, faultTable } from "../../faults/fault-rules.js";
import type { HardwareWork } from "./provision-states.js";

/** What hardware does takes so long, in milliseconds. */
export type HardwareDelays = Readonly<Record<HardwareWork, number>>;

export const DEFAULT_DELAYS: HardwareDelays = {
  verify: 500,
  inspect: 1_000,
  adopt: 1_000,
  deploy: 4_000,
  "tear-down": 2_000,
  clean: 4_000,
  rescue: 2_000,
  unrescue: 2_000,
  power: 1_000,
};

export const hardwarePoint = (work: HardwareWork | "validate"): string => `hardware.${work}`;

const API_METHODS = ["get", "post", "put", "patch", "delete"];

/** Where the embedded Ironic can be made to fail: in what hardware does, and in what the API answers. */
export const IRONIC_FAULTS = faultTable([
  ...(Object.keys(DEFAULT_DELAYS) as HardwareWork[]).map(
    (work): FaultPoint => ({ point: hardwarePoint(work), kinds: ["fail", "hang", "slow"] }),
  ),
  { point: hardwarePoint("validate"), kinds: ["fail"] },
  ...["api", ...API_METHODS.map((method) => `api.${method}`)].map(
    (point): FaultPoint => ({ point, kinds: ["status", "lose-answer", "slow", "hang"] }),
  ),
]);
