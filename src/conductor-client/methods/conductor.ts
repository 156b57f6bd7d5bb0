import { CLUSTER_METHODS } from "./cluster.js";
import { HOST_METHODS } from "./hosts.js";
import type { MethodsOf } from "./method.js";
import { OPERATOR_METHODS } from "./operator.js";
import { RECORD_METHODS } from "./records.js";
import { WORK_METHODS } from "./work.js";

/** What an agent, or an operator's command, may ask of the conductor. Names are Nova's. */
export const CONDUCTOR_METHODS = {
  ...RECORD_METHODS,
  ...WORK_METHODS,
  ...OPERATOR_METHODS,
  ...HOST_METHODS,
  ...CLUSTER_METHODS,
};

export type ConductorMethods = MethodsOf<typeof CONDUCTOR_METHODS>;
export type ConductorMethod = keyof ConductorMethods;
