import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { AGENT_METHODS, type AgentMethod } from "../../../../src/conductor-client/methods/agent.js";
import { CONDUCTOR_METHODS, OPERATOR_METHODS } from "../../../../src/conductor-client/methods/conductor.js";
import type { RemoteMethods } from "../../../../src/conductor-client/methods/method.js";
import { SESSION_METHODS } from "../../../../src/conductor-client/methods/session.js";
import { MethodChecks } from "../../../../src/control-plane/conductor/method-checks.js";
import { object } from "../../../../src/records/field.js";

const TABLES: RemoteMethods = { ...CONDUCTOR_METHODS, ...SESSION_METHODS, ...AGENT_METHODS };

describe("the schemas of the parameters", () => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true });

  test.each(Object.entries(TABLES))("of %s are valid, and reject unknown fields", (_method, { params }) => {
    const validate = ajv.compile(object(params));
    expect(validate({ noSuchField: 1 })).toBe(false);
  });
});

test("consumers_under_way limits its consumers, so that a lease cannot expire meanwhile", () => {
  const checks = new MethodChecks(OPERATOR_METHODS);
  const ask = (consumers: number) => () =>
    checks.checkParams("consumers_under_way", { uuids: new Array<string>(consumers).fill("c") });
  expect(ask(5_000)).not.toThrow();
  expect(ask(5_001)).toThrow(expect.objectContaining({ code: "InvalidParameters" }));
});

describe("validation messages", () => {
  const I = "00000000-0000-4000-8000-000000000001";
  const checks = new MethodChecks({ ...CONDUCTOR_METHODS, ...SESSION_METHODS });
  type Method = keyof typeof CONDUCTOR_METHODS | keyof typeof SESSION_METHODS;

  test.each<[Method, object, string, string]>([
    ["instance_get", {}, "params.uuid", "found nothing, expected a value"],
    ["instance_get", { uuid: "x" }, "params.uuid", 'found "x", expected a UUID'],
    ["instance_get", { uuid: I, x: 1 }, "params.x", "unknown field, expected one of uuid, readDeleted"],
    ["session_ping", { x: 1 }, "params.x", "unknown field, expected one of none"],
    ["service_report_state", { id: "1" }, "params.id", 'found "1", expected integer'],
    ["instance_save", { uuid: I, changes: { host: 5 } }, "params.changes.host", "found 5, expected string or null"],
    [
      "instance_save",
      { uuid: I, changes: { vcpus: -1 } },
      "params.changes.vcpus",
      "found -1, expected a value that must be >= 0",
    ],
  ])("%s %j", (method, params, field, text) => {
    const check = () => checks.checkParams(method, params);
    expect(check).toThrow(new ConductorError("InvalidParameters", `${method}: ${field}: ${text}`, { field }));
  });

  test("name all permitted values of an enumeration", () => {
    const check = () => checks.checkParams("instance_save", { uuid: I, changes: { vmState: "sleeping" } });
    expect(check).toThrow(
      /^instance_save: params\.changes\.vmState: found "sleeping", expected one of building, active, /,
    );
  });
});

describe("results of agents", () => {
  const checks = new MethodChecks(AGENT_METHODS);
  const VALUES = [null, "enabled", "other", true, 0, {}, { any: 1 }, []];

  test.each<[AgentMethod, readonly unknown[]]>([
    ["post_live_migration_at_destination", [null]],
    ["confirm_resize", [null]],
    ["set_host_enabled", ["enabled"]],
    ["check_instance_shared_storage", [true]],
    ["pre_live_migration", [{}, { any: 1 }]],
  ])("to %s are those of its table", (method, expected) => {
    expect(VALUES.filter((value) => checks.isResult(method, value))).toEqual(expected);
  });
});
