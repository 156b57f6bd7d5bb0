import { describe, expect, test } from "vitest";
import { agentHandlers, drainingHandlers, TaskTracker } from "../../../../src/agent/lifecycle/agent-handlers.js";
import type { OperationName, OperationServices } from "../../../../src/agent/operations/flow/contract.js";
import { callOf, OPERATIONS } from "../../../../src/agent/operations/table.js";
import type { AgentServices } from "../../../../src/agent/services.js";
import { AGENT_METHODS, type AgentMethod } from "../../../../src/conductor-client/methods/agent.js";
import type { AgentHandlers } from "../../../../src/conductor-client/port.js";

const NAMES = Object.keys(OPERATIONS) as OperationName[];
const HOST = [
  "check_instance_shared_storage",
  "get_console_output",
  "get_diagnostics",
  "get_host_uptime",
  "get_instance_diagnostics",
  "list_guests",
  "migration_ended",
  "external_instance_event",
  "set_host_enabled",
];
const services = { runtime: {} } as unknown as AgentServices;

function methodsOf(handlers: Partial<AgentHandlers>): string[] {
  return Object.keys(AGENT_METHODS).filter((method) => handlers[method as AgentMethod] !== undefined);
}

/** Returns the event of the instance's action that an operation records. */
function eventOf(name: OperationName): string {
  const logger = { child: () => logger };
  const operationServices = { logger } as unknown as OperationServices;
  return callOf(name, operationServices, { instanceUuid: "vm", requestId: "req-1" } as never).event.event;
}

describe("the table of operations", () => {
  test("a handler is served for each message, and none for an evacuation, which comes as a rebuild", () => {
    const served = methodsOf(agentHandlers(services, new TaskTracker()));
    expect(served.sort()).toEqual([...NAMES.filter((name) => name !== "evacuate_instance"), ...HOST].sort());
  });

  test("2.8 an agent that stops takes what the other host of a move asks, and what stops one", () => {
    expect(methodsOf(drainingHandlers(services, new TaskTracker())).sort()).toEqual([
      "check_instance_shared_storage",
      "external_instance_event",
      "finish_resize",
      "live_migration_abort",
      "live_migration_force_complete",
      "migration_ended",
      "post_live_migration_at_destination",
      "rollback_live_migration_at_destination",
    ]);
  });

  test("1.6 an event is named after its method, except Nova's two", () => {
    const others = NAMES.map((name) => [name, eventOf(name)]).filter(([name, event]) => event !== `compute_${name}`);
    expect(others).toEqual([
      ["build_and_run_instance", "compute__do_build_and_run_instance"],
      ["evacuate_instance", "compute_rebuild_instance"],
    ]);
  });

  test("an instance's lock is held by all that write to it, except what runs beside a copy", () => {
    expect(NAMES.filter((name) => OPERATIONS[name].lock === "none").sort()).toEqual([
      "check_can_live_migrate_destination",
      "check_can_live_migrate_source",
      "live_migration",
      "live_migration_abort",
      "live_migration_force_complete",
    ]);
    expect(NAMES.filter((name) => OPERATIONS[name].lock === "build")).toEqual(["build_and_run_instance"]);
  });
});
