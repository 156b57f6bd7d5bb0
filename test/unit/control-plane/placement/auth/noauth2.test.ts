import { describe, expect, it } from "vitest";
import { noauth2 } from "../../../../../src/control-plane/placement/auth.js";

describe("noauth2", () => {
  it.each([
    ["admin", {}, { userId: "admin", projectId: "admin", roles: ["admin"], systemScope: null }],
    ["user:project", {}, { userId: "user", projectId: "project", roles: [] }],
    ["user", { "x-roles": "member, reader" }, { roles: ["member", "reader"] }],
    ["admin", { "x-roles": "" }, { roles: [] }],
    ["user", { "x-project-id": "other" }, { projectId: "other" }],
    ["admin", { "openstack-system-scope": "all" }, { projectId: null, systemScope: "all" }],
    ["user", { "x-domain-id": "d" }, { domainScope: "d" }],
  ])("accepts the token %s with %j", (token, headers: Record<string, string>, expected) => {
    expect(noauth2.authenticate(token, headers)).toMatchObject(expected);
  });

  it("requires a token", () => {
    expect(noauth2.authenticate(undefined, {})).toBeUndefined();
  });
});
