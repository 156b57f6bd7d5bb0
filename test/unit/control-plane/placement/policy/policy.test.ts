import { describe, expect, it } from "vitest";
import { Enforcer } from "../../../../../src/control-plane/placement/auth.js";
import type { PlacementCredentials, PolicyOptions } from "../../../../../src/control-plane/placement/options.js";
import { PLACEMENT_ACTIONS } from "../../../../../src/control-plane/placement/placement-api.js";
import { type PolicyAttributes, parseRule } from "../../../../../src/control-plane/policy/rule-parser.js";

const attributes: PolicyAttributes = {
  credentials: {
    user_id: "u",
    project_id: "p",
    is_admin: true,
    nested: { list: [{ id: "a" }], plain: "b" },
    roles: ["reader"],
  },
  roles: new Set(["reader", "member"]),
  target: { project_id: "p", role_name: "Member", nothing: null },
  rule: (name) => name === "yes",
};

describe("parseRule", () => {
  it.each<[string, boolean]>([
    ["", true],
    ["@", true],
    ["!", false],
    ["role:reader", true],
    ["role:READER", true],
    ["role:admin", false],
    ["role:%(role_name)s", true],
    ["role:%(unknown)s", false],
    ["rule:yes", true],
    ["rule:no", false],
    ["project_id:%(project_id)s", true],
    ["user_id:%(project_id)s", false],
    ["role:reader and project_id:%(project_id)s", true],
    ["role:admin or role:reader and rule:yes", true],
    ["role:reader and rule:no or rule:yes", true],
    ["role:reader and (rule:no or rule:no)", false],
    ["not role:admin", true],
    ["NOT role:reader OR rule:yes", true],
    ["(role:admin or role:reader) and not rule:no", true],
    ["is_admin:True", true],
    ["'Member':%(role_name)s", true],
    ["None:%(nothing)s", true],
    ["nested.plain:b", true],
    ["unknown:x", false],
    ["nonsense", false],
    ["role:reader role:member", false],
    ["(role:reader", false],
    ["and role:reader", false],
  ])("%j allows: %s", (rule, allowed) => {
    expect(parseRule(rule)(attributes)).toBe(allowed);
  });

  it("accepts the legacy list form: an outer `or` of inner `and`s", () => {
    expect(parseRule([])(attributes)).toBe(true);
    expect(parseRule(["role:admin", ["role:reader", "rule:yes"]])(attributes)).toBe(true);
    expect(parseRule([["role:reader", "rule:no"]])(attributes)).toBe(false);
    expect(parseRule([[]])(attributes)).toBe(false);
  });
});

describe("Enforcer", () => {
  const who = (roles: string[], more: Partial<PlacementCredentials> = {}): PlacementCredentials => ({
    userId: "u",
    projectId: "p",
    systemScope: null,
    roles,
    ...more,
  });
  const reason = (options: Partial<PolicyOptions>, by: PlacementCredentials, action: string, projectId = "p") => {
    try {
      return new Enforcer(PLACEMENT_ACTIONS, options).enforce(by, action, { project_id: projectId });
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  };
  const allowed = (...args: Parameters<typeof reason>) => reason(...args) === undefined;
  const list = "placement:resource_providers:list";
  const reshape = "placement:reshaper:reshape";
  const strict = { enforceNewDefaults: true };

  it("permits everything to admin and service by default, and nothing to others", () => {
    for (const role of ["admin", "service"]) {
      expect(allowed({}, who([role]), list)).toBe(true);
      expect(allowed({}, who([role]), reshape)).toBe(true);
    }
    expect(allowed({}, who(["member", "reader"]), list)).toBe(false);
  });

  it("permits reshaping only to service when the new defaults are enforced", () => {
    expect(allowed(strict, who(["admin"]), list)).toBe(true);
    expect(allowed(strict, who(["admin"]), reshape)).toBe(false);
    expect(allowed(strict, who(["service"]), reshape)).toBe(true);
  });

  it("permits readers to list the usages of their own project", () => {
    expect(allowed(strict, who(["reader"]), "placement:usages")).toBe(true);
    expect(allowed(strict, who(["reader"]), "placement:usages", "other")).toBe(false);
    expect(allowed(strict, who(["admin"]), "placement:usages", "other")).toBe(true);
  });

  it("rejects tokens of another scope with the action's bare name", () => {
    const system = who(["admin"], { systemScope: "all", projectId: null });
    expect(reason({}, system, list)).toBe(list);
    expect(reason({}, who(["admin"], { domainScope: "d" }), list)).toBe(list);
    expect(reason({ enforceScope: false }, system, list)).toBeUndefined();
    expect(reason({}, who([]), list)).toBe(`Policy does not allow ${list} to be performed.`);
  });

  it("lets a reference to another rule mean its default, and one to an unknown rule nothing", () => {
    const rules = (reference: string) => ({ rules: { [list]: `rule:${reference}` } });
    expect(allowed(rules("placement:traits:list"), who(["admin"]), list)).toBe(true);
    expect(allowed(rules("placement:traits:lst"), who(["admin"]), list)).toBe(false);
  });

  it("replaces its rules, including the deprecated ones, by those of a policy file", () => {
    expect(allowed({ rules: { [list]: "role:reader" } }, who(["admin"]), list)).toBe(false);
    expect(allowed({ rules: { [list]: "rule:mine", mine: "@" } }, who([]), list)).toBe(true);
    expect(allowed({ rules: { admin_or_service_api: "role:chief" } }, who(["admin"]), list)).toBe(false);
    expect(allowed({ rules: { [list]: "rule:missing" } }, who(["admin"]), list)).toBe(false);
  });
});
