import { describe, expect, it, test } from "vitest";
import type { RECORD_METHODS } from "../../../../../src/conductor-client/methods/records.js";
import { recordMethods } from "../../../../../src/control-plane/conductor/methods/record-methods.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";

type Method = keyof typeof RECORD_METHODS;

/** A store whose methods return their call: `[services.getByHost, h, nova-compute]`. */
function recordingStore(results: Readonly<Record<string, unknown>> = {}) {
  const calls: unknown[] = [];
  const part = (name: string) =>
    new Proxy(
      {},
      {
        get:
          (_target, method: string) =>
          (...args: readonly unknown[]) => {
            const question = [`${name}.${method}`, ...args];
            calls.push(question);
            return results[`${name}.${method}`] ?? question;
          },
      },
    );
  const store = new Proxy({}, { get: (_target, name: string) => part(name) });
  return { store: store as Store, calls };
}

function call(method: Method, params: object, results?: Readonly<Record<string, unknown>>) {
  const { store, calls } = recordingStore(results);
  const handler = recordMethods(store)[method] as (params: object) => unknown;
  return { result: handler(params), calls };
}

describe("each method calls one method of the store and returns its result", () => {
  test.each<[Method, object, readonly unknown[]]>([
    ["service_get_by_host", { host: "h", binary: "b" }, ["services.getByHost", "h", "b"]],
    ["service_update_version", { id: 1, version: 2 }, ["services.update", 1, { version: 2 }]],
    ["service_minimum_version", { binary: "b" }, ["services.minimumVersion", "b"]],
    ["compute_nodes_by_host", { host: "h" }, ["computeNodes.byHost", "h"]],
    ["compute_nodes_by_uuids", { uuids: ["u"] }, ["computeNodes.byUuids", ["u"]]],
    ["compute_nodes_by_hypervisor_hostname", { hypervisorHostname: "n" }, ["computeNodes.byHypervisorHostname", "n"]],
    ["compute_node_get_by_uuid", { uuid: "u" }, ["computeNodes.getByUuid", "u", { readDeleted: true }]],
    ["compute_node_get_by_host_and_node", { host: "h", node: "n" }, ["computeNodes.getByHostAndNode", "h", "n"]],
    ["compute_node_create", { host: "h" }, ["computeNodes.create", { host: "h" }, { exclusive: false }]],
    [
      "compute_node_create",
      { host: "h", exclusive: true },
      ["computeNodes.create", { host: "h" }, { exclusive: true }],
    ],
    [
      "compute_node_save",
      { id: 1, changes: { vcpus: 2 } },
      ["computeNodes.save", 1, { vcpus: 2 }, { undelete: false }],
    ],
    ["compute_node_save", { id: 1, changes: {}, undelete: true }, ["computeNodes.save", 1, {}, { undelete: true }]],
    ["compute_node_destroy", { id: 1, host: "h" }, ["computeNodes.destroy", 1, "h"]],
    ["instance_get", { uuid: "u" }, ["instances.get", "u", { readDeleted: false }]],
    ["instance_get", { uuid: "u", readDeleted: true }, ["instances.get", "u", { readDeleted: true }]],
    ["instances_by_host", { host: "h" }, ["instances.byHost", "h"]],
    ["instances_by_host_and_node", { host: "h", node: "n" }, ["instances.byHostAndNode", "h", "n"]],
    ["instances_by_filters", { filters: { host: "h" } }, ["instances.byFilters", { host: "h" }]],
    [
      "instance_save",
      { uuid: "u", changes: { host: "h" }, expectedTaskState: [null], ofRequest: "r" },
      ["instances.save", "u", { host: "h" }, { expectedTaskState: [null], ofRequest: "r" }],
    ],
    ["instance_destroy", { uuid: "u" }, ["instances.destroy", "u", { guardHostIsNull: false }]],
    ["instance_destroy", { uuid: "u", guardHostIsNull: true }, ["instances.destroy", "u", { guardHostIsNull: true }]],
    ["instance_action_event_start", { event: "e" }, ["actions.startEvent", { event: "e" }]],
    ["instance_actions", { instanceUuid: "u" }, ["actions.list", "u"]],
    ["migration_get", { id: 1 }, ["migrations.get", 1]],
    ["migrations_by_filters", { filters: { host: "h" } }, ["migrations.byFilters", { host: "h" }]],
    ["migrations_in_progress", { host: "h", node: "n" }, ["migrations.inProgress", "h", "n", { includeError: false }]],
    [
      "migrations_in_progress",
      { host: "h", node: "n", includeError: true },
      ["migrations.inProgress", "h", "n", { includeError: true }],
    ],
    ["migration_create", { status: "accepted" }, ["migrations.create", { status: "accepted" }]],
    [
      "migration_save",
      { id: 1, changes: { status: "done" }, expectedStatus: ["accepted"] },
      ["migrations.save", 1, { status: "done" }, { expectedStatus: ["accepted"] }],
    ],
  ])("%s %j", (method, params, question) => {
    expect(call(method, params)).toEqual({ result: question, calls: [question] });
  });

  test.each<[Method, object, readonly unknown[]]>([
    ["service_report_state", { id: 1 }, ["services.reportState", 1]],
    [
      "instance_add_fault",
      { uuid: "u", code: 500, message: "m", host: "h" },
      ["instances.addFault", { code: 500, message: "m", host: "h", instanceUuid: "u", details: null }],
    ],
    [
      "instance_add_fault",
      { uuid: "u", code: 500, message: "m", host: "h", details: "d" },
      ["instances.addFault", { code: 500, message: "m", host: "h", instanceUuid: "u", details: "d" }],
    ],
    [
      "instance_action_event_finish",
      { eventId: 1, result: "Error", details: "d" },
      ["actions.finishEvent", 1, { result: "Error", details: "d" }],
    ],
  ])("%s %j answers nothing", (method, params, question) => {
    expect(call(method, params)).toEqual({ result: null, calls: [question] });
  });
});

describe("service_create: enable_new_services", () => {
  const REASON = "New compute service disabled due to config option.";
  it.each([
    ["nova-compute", true, { disabled: false, disabledReason: null }],
    ["nova-compute", false, { disabled: true, disabledReason: REASON }],
    ["nova-conductor", false, { disabled: false, disabledReason: null }],
  ])("%s %s", (binary, enableNewServices, expected) => {
    const { calls } = call("service_create", { host: "h", binary, enableNewServices });
    expect(calls).toEqual([["services.create", { host: "h", binary, ...expected }]]);
  });
});

it("services_by_hypervisor_type: the compute services of the hosts that have such a node", () => {
  const results = {
    "computeNodes.hostsOfType": ["a", "c"],
    "services.list": [{ host: "a" }, { host: "b" }, { host: "c" }],
  };
  const { result, calls } = call("services_by_hypervisor_type", { hypervisorType: "ironic" }, results);
  expect(result).toEqual([{ host: "a" }, { host: "c" }]);
  expect(calls).toEqual([
    ["computeNodes.hostsOfType", "ironic"],
    ["services.list", { binary: "nova-compute" }],
  ]);
});

it("instance_in_hand: whether a message to the host, or a task, concerns the instance", () => {
  const inHand = (isPending: boolean, tasks: readonly object[]) =>
    call("instance_in_hand", { uuid: "u", host: "h" }, { "messages.isPending": isPending, "tasks.ofInstance": tasks })
      .result;
  expect([inHand(false, []), inHand(true, []), inHand(false, [{}])]).toEqual([false, true, true]);
});

describe("save_together", () => {
  it.each([
    ["done", true],
    ["migrating", false],
  ])(
    "saves both with what each expects; the instance is read again after a migration that is %s: %s",
    (status, isRead) => {
      const moved = { status };
      const { result, calls } = call(
        "save_together",
        {
          instance: { uuid: "u", changes: { host: "h" }, expectedHost: "s" },
          migration: { id: 1, changes: { status }, expectedStatus: ["accepted"] },
        },
        { "migrations.save": moved },
      );
      const saved = ["instances.save", "u", { host: "h" }, { expectedHost: "s" }];
      const again = ["instances.get", "u", { readDeleted: true }];
      const both = [saved, ["migrations.save", 1, { status }, { expectedStatus: ["accepted"] }]];
      expect(calls).toEqual(isRead ? [...both, again] : both);
      expect(result).toEqual({ instance: isRead ? again : saved, migration: moved });
    },
  );

  it("saves one alone, or none", () => {
    const saved = ["instances.save", "u", {}, {}];
    expect(call("save_together", { instance: { uuid: "u", changes: {} } }).result).toEqual({
      instance: saved,
      migration: null,
    });
    const moved = ["migrations.save", 1, {}, {}];
    expect(call("save_together", { migration: { id: 1, changes: {} } })).toEqual({
      result: { instance: null, migration: moved },
      calls: [moved],
    });
    expect(call("save_together", {})).toEqual({ result: { instance: null, migration: null }, calls: [] });
  });
});
