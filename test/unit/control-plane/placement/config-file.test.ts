import { describe, expect, it } from "vitest";
import { parseConfig, placementConfig, policyRules } from "../../../../src/control-plane/placement/config-file.js";

const config = (text: string) => placementConfig(parseConfig(text, "placement.conf"));

describe("placement.conf", () => {
  it("has defaults", () => {
    expect(config("")).toMatchObject({
      authStrategy: undefined,
      databasePath: undefined,
      policyFile: undefined,
      policy: { enforceScope: true, enforceNewDefaults: false },
      cors: undefined,
      placement: { maxAllocationCandidates: -1, generationStrategy: "depth-first" },
    });
  });

  it("reads the sections of the real placement.conf", () => {
    const text = `
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////var/lib/placement.sqlite
[oslo_policy]
enforce_scope = no
enforce_new_defaults : True
policy_file = policy.yaml
[cors]
allowed_origin = http://a, http://b
max_age = 60
[placement]
randomize_allocation_candidates = 1
max_allocation_candidates = 5
allocation_candidates_generation_strategy = breadth-first
`;
    expect(config(text)).toMatchObject({
      databasePath: "/var/lib/placement.sqlite",
      policyFile: "policy.yaml",
      policy: { enforceScope: false, enforceNewDefaults: true },
      cors: { allowedOrigin: ["http://a", "http://b"], maxAge: 60, allowCredentials: true },
      placement: {
        randomizeAllocationCandidates: true,
        maxAllocationCandidates: 5,
        generationStrategy: "breadth-first",
      },
    });
  });

  it.each([
    ["[oslo_policy]\nenforce_scope = maybe", "[oslo_policy] enforce_scope = maybe: expected true or false"],
    ["[placement]\nmax_allocation_candidates = x", "expected an integer"],
    ["[placement]\nallocation_candidates_generation_strategy = x", "expected depth-first or breadth-first"],
    ["[placement_database]\nconnection = mysql://x", "expected sqlite:///PATH"],
    ["nonsense", "placement.conf, line 1"],
  ])("rejects %j", (text, message) => {
    expect(() => config(text)).toThrow(message);
  });

  it("reads rules only from a policy file that contains an object", () => {
    expect(policyRules({ a: "@" })).toEqual({ a: "@" });
    expect(policyRules(null)).toEqual({});
    expect(policyRules(["a"])).toEqual({});
  });
});
