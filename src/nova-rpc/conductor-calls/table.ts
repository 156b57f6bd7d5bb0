import type { ConductorMethod } from "../../conductor-client/methods/conductor.js";
import { ACTION_CALLS } from "./actions.js";
import type { ConductorCalls } from "./calls.js";
import { COMPUTE_NODE_CALLS } from "./compute-nodes.js";
import { INSTANCE_CALLS } from "./instances.js";
import { MIGRATION_CALLS } from "./migrations.js";
import { SERVER_GROUP_CALLS } from "./server-groups.js";
import { SERVICE_CALLS } from "./services.js";
import { USAGE_AUDIT_CALLS } from "./usage-audits.js";
import { WORK_CALLS } from "./work.js";

/** Every method of the port. */
export const CONDUCTOR_CALLS: ConductorCalls<ConductorMethod> = {
  ...SERVICE_CALLS,
  ...COMPUTE_NODE_CALLS,
  ...INSTANCE_CALLS,
  ...SERVER_GROUP_CALLS,
  ...ACTION_CALLS,
  ...MIGRATION_CALLS,
  ...USAGE_AUDIT_CALLS,
  ...WORK_CALLS,
};
