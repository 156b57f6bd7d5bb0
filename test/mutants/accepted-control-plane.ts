import type { Accepted } from "./mutant.js";

const HOST_WITHOUT_NODE = "host and node are null together: the state of record refuses half a placement";
const NULL_HOST = "nothing is known of a host that is null: to ask about it is as not to ask";
const UNDEFINED = "what is undefined is read as what is absent";

const TASKS = "src/control-plane/conductor/tasks";

/** Accepted mutants of the control plane and of the audit. */
export const ACCEPTED_IN_CONTROL_PLANE: readonly Accepted[] = [
  {
    path: `${TASKS}/source-allocations.ts`,
    operator: "operator",
    change: "host === null || node === null → host === null && node === null",
    reason: HOST_WITHOUT_NODE,
  },
  ...["rebuild-instance", "migrate-server", "live-destination"].map((name) => ({
    path: `${TASKS}/${name}.ts`,
    operator: "condition",
    change: "instance.host === null → false",
    reason: NULL_HOST,
  })),
  ...["true", "false"].map((value) => ({
    path: `${TASKS}/source-allocations.ts`,
    operator: "condition",
    change: `moved !== true → ${value}`,
    reason: "only decides whether it is logged",
  })),
  {
    path: "src/control-plane/conductor/task-runner.ts",
    operator: "statement",
    change: "drop finished = true;",
    reason: "a task that is removed twice is removed",
  },
  {
    path: "src/control-plane/conductor/methods/operator-methods.ts",
    operator: "condition",
    change: "node.serviceId === null → false",
    reason: "no service has a null id",
  },
  {
    path: "src/control-plane/conductor/methods/session-methods.ts",
    operator: "condition",
    change: "loser → true",
    reason: "nobody who is undefined serves a host that somebody serves",
  },
  ...["src/audit/checks/migration-checks.ts", "src/audit/checks/server-allocations.ts"].map((path) => ({
    path,
    operator: "condition",
    change: "owedBy → true",
    reason: UNDEFINED,
  })),
  {
    path: "src/control-plane/scheduler/scheduler.ts",
    operator: "condition",
    change: "inTree === undefined → false",
    reason: UNDEFINED,
  },
  {
    path: "src/control-plane/conductor/service-delete.ts",
    operator: "string",
    change: '"" → "mutant"',
    reason: "an evacuation that is done names its source node; the other is the end of a sentence",
  },
];
