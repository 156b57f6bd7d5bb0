import { CLAIM_CASES } from "./claim-cases.js";
import type { ContractCase } from "./client.js";
import { DISCOVERY_CASES } from "./discovery-cases.js";
import { DRIVER_CASES } from "./driver-cases.js";
import { LIST_CASES } from "./list-cases.js";
import { NODE_CASES } from "./node-cases.js";
import { PORT_CASES } from "./port-cases.js";
import { STATE_CASES } from "./state-cases.js";

/** The behaviour of Ironic 1.82, tested with the real one and the embedded one. */
export const CONTRACT: Readonly<Record<string, readonly ContractCase[]>> = {
  discovery: DISCOVERY_CASES,
  nodes: NODE_CASES,
  lists: LIST_CASES,
  ports: PORT_CASES,
  drivers: DRIVER_CASES,
  states: STATE_CASES,
  claims: CLAIM_CASES,
};
