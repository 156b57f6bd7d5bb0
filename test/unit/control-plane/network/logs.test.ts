import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

const UNKNOWN = "4c326229-f495-48bb-b3db-c5acff390000";

let network: NetworkHarness;
let group: unknown;
let otherGroup: unknown;
let port: unknown;

const logOf = (attributes: Body) => ({ log: { resource_type: "security_group", ...attributes } });

const createLog = (attributes: Body = {}) => network.get("POST", "/log/logs", logOf(attributes), "admin");

const rejectionOf = (attributes: Body) => network.rejection("POST", "/log/logs", logOf(attributes), "admin");

const createGroup = async () => (await network.get("POST", "/security-groups", { security_group: { name: "g" } })).id;

beforeEach(async () => {
  network = new NetworkHarness();
  group = await createGroup();
  otherGroup = await createGroup();
  const { id } = await network.get("POST", "/networks", { network: {} });
  port = (await network.get("POST", "/ports", { port: { network_id: id, security_groups: [group] } })).id;
});

describe("a log", () => {
  test("names a group, a port, both or none of them", async () => {
    const log = await createLog({ resource_id: group, target_id: port, description: "d" });
    expect(log).toEqual({
      id: log.id,
      name: "",
      description: "d",
      project_id: "admin",
      tenant_id: "admin",
      resource_type: "security_group",
      resource_id: group,
      target_id: port,
      event: "ALL",
      enabled: true,
      revision_number: 0,
      created_at: log.created_at,
      updated_at: log.created_at,
    });
    expect(await createLog()).toMatchObject({ resource_id: null, target_id: null });
    expect(await network.list(`/log/logs?resource_id=${group}`, "admin")).toEqual([log]);
  });

  test.each([
    [{ resource_type: "snat" }, "400 InvalidLogResourceType: Invalid log resource_type: snat."],
    [{ event: "x" }, "400 HTTPBadRequest: Invalid input for event. Reason: x is not in valid_values."],
    [{ resource_id: UNKNOWN }, `404 ResourceNotFound: Resource ${UNKNOWN} could not be found.`],
    [{ target_id: UNKNOWN }, `404 TargetResourceNotFound: Target resource ${UNKNOWN} could not be found.`],
  ])("is not created by %o", async (attributes, message) => {
    expect(await rejectionOf(attributes)).toBe(message);
  });

  test("names a group that its port has", async () => {
    expect(await rejectionOf({ resource_id: otherGroup, target_id: port })).toBe(
      `400 InvalidResourceConstraint: Invalid resource constraint between resource (security_group ${otherGroup}) and target resource (port ${port}).`,
    );
  });

  test("is changed in its name and whether it is enabled", async () => {
    const { id } = await createLog();
    const changes = { name: "x", enabled: false };
    expect(await network.get("PUT", `/log/logs/${id}`, { log: changes }, "admin")).toMatchObject({
      ...changes,
      revision_number: 1,
    });
    expect(await network.rejection("PUT", `/log/logs/${id}`, { log: { event: "DROP" } }, "admin")).toBe(
      "400 HTTPBadRequest: Cannot update read-only attribute event",
    );
  });

  test("is unknown to members", async () => {
    const { id } = await createLog();
    expect(await network.list("/log/logs")).toEqual([]);
    expect(await network.rejection("GET", `/log/logs/${id}`)).toBe(
      `404 LogResourceNotFound: Log resource ${id} could not be found.`,
    );
    expect(await network.rejection("POST", "/log/logs", logOf({}))).toBe(
      "403 PolicyNotAuthorized: rule:create_log is disallowed by policy",
    );
  });

  test("goes with its group and its port while it is enabled", async () => {
    await createLog({ target_id: port });
    await createLog({ resource_id: otherGroup });
    const disabled = await createLog({ resource_id: otherGroup, enabled: false });
    const ofProject = await createLog();
    await network.get("DELETE", `/ports/${port}`);
    await network.get("DELETE", `/security-groups/${otherGroup}`);
    expect(await network.list("/log/logs?fields=id", "admin")).toEqual([{ id: disabled.id }, { id: ofProject.id }]);
  });
});

test("security groups are the resources that can be logged", async () => {
  expect(await network.list("/log/loggable-resources", "admin")).toEqual([{ type: "security_group" }]);
  expect(await network.list("/log/loggable-resources")).toEqual([]);
});
