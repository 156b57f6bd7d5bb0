import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

const LABELS = "/metering/metering-labels";
const RULES = "/metering/metering-label-rules";

let network: NetworkHarness;
let label: Body;

const createLabel = (attributes: Body) => network.get("POST", LABELS, { metering_label: attributes }, "admin");

const ruleBody = (attributes: Body) => ({
  metering_label_rule: { metering_label_id: label.id, direction: "ingress", ...attributes },
});

const createRule = (attributes: Body) => network.get("POST", RULES, ruleBody(attributes), "admin");

const rejectionOf = (attributes: Body) => network.rejection("POST", RULES, ruleBody(attributes), "admin");

beforeEach(async () => {
  network = new NetworkHarness();
  label = await createLabel({ name: "label1", tenant_id: "demo" });
});

describe("a metering label", () => {
  test("has a name, a description and a project", () => {
    expect(label).toEqual({
      id: label.id,
      name: "label1",
      description: "",
      shared: false,
      project_id: "demo",
      tenant_id: "demo",
    });
  });

  test("is read by its project, and written by administrators", async () => {
    expect(await network.list(LABELS, "reader")).toEqual([label]);
    expect(await network.list(LABELS, "alt")).toEqual([]);
    expect(await network.rejection("POST", LABELS, { metering_label: {} })).toBe(
      "403 PolicyNotAuthorized: rule:create_metering_label is disallowed by policy",
    );
    expect(await network.rejection("DELETE", `${LABELS}/${label.id}`)).toBe(
      "403 PolicyNotAuthorized: rule:delete_metering_label is disallowed by policy",
    );
  });

  test("of another project is unknown, and one that is shared is hidden", async () => {
    expect(await network.rejection("GET", `${LABELS}/${label.id}`, undefined, "alt")).toBe(
      `404 MeteringLabelNotFound: Metering label '${label.id}' does not exist.`,
    );
    const { id } = await createLabel({ shared: true });
    expect(await network.rejection("GET", `${LABELS}/${id}`, undefined, "alt")).toBe(
      "404 HTTPNotFound: The resource could not be found.",
    );
  });

  test("cannot be changed", async () => {
    expect(await network.rejection("PUT", `${LABELS}/${label.id}`, { metering_label: { name: "x" } }, "admin")).toBe(
      "400 HTTPBadRequest: Cannot update read-only attribute name",
    );
    const reply = await network.send("PUT", `${LABELS}/${label.id}`, { metering_label: {} }, "admin");
    expect([reply.status, reply.json("NotImplementedError", "type")]).toEqual([501, "NotImplementedError"]);
  });

  test("is deleted with its rules", async () => {
    await createRule({ remote_ip_prefix: "10.0.0.0/8" });
    await network.get("DELETE", `${LABELS}/${label.id}`, undefined, "admin");
    expect(await network.list(RULES, "admin")).toEqual([]);
  });
});

describe("a metering label rule", () => {
  test("stores a prefix with its length and the bits of the host", async () => {
    const rule = await createRule({ source_ip_prefix: "10.2.3.4", destination_ip_prefix: "::1/64" });
    expect(rule).toEqual({
      id: rule.id,
      metering_label_id: label.id,
      direction: "ingress",
      excluded: false,
      remote_ip_prefix: null,
      source_ip_prefix: "10.2.3.4/32",
      destination_ip_prefix: "::1/64",
    });
    expect(await network.list(`${RULES}?source_ip_prefix=10.2.3.4/32`, "admin")).toEqual([rule]);
  });

  test("is hidden from members, even of the label's project", async () => {
    const { id } = await createRule({ remote_ip_prefix: "10.0.0.0/8" });
    expect(await network.list(RULES)).toEqual([]);
    for (const method of ["GET", "DELETE"]) {
      expect(await network.rejection(method, `${RULES}/${id}`)).toBe(
        "404 HTTPNotFound: The resource could not be found.",
      );
    }
  });

  test("has a remote prefix that overlaps no other one of its label and direction", async () => {
    await createRule({ remote_ip_prefix: "10.2.3.4/8" });
    expect(await rejectionOf({ remote_ip_prefix: "10.2.3.4/16" })).toBe(
      "409 MeteringLabelRuleOverlaps: Metering label rule with remote_ip_prefix '10.2.3.4/16' overlaps another.",
    );
    await createRule({ remote_ip_prefix: "10.2.3.4/16", direction: "egress" });
    await createRule({ remote_ip_prefix: "10.2.3.4/16", excluded: true });
    await createRule({ remote_ip_prefix: "fd00::/16" });
    await createRule({ source_ip_prefix: "10.2.3.4/16" });
  });

  test.each([
    [
      {},
      "500 Invalid: You must define at least one of the following parameters 'remote_ip_prefix', or 'source_ip_prefix' or 'destination_ip_prefix'.",
    ],
    [
      { remote_ip_prefix: "1.2.3.4/8", source_ip_prefix: "1.2.3.4" },
      "500 Invalid: Cannot use 'remote-ip-prefix' in conjunction with 'source-ip-prefix' or 'destination-ip-prefix'.",
    ],
    [
      { remote_ip_prefix: "1.2.3.4/33" },
      "500 Invalid: remote_ip_prefix: 1.2.3.4/33 is invalid ['1.2.3.4/33' does not appear to be an IPv4 or IPv6 interface].",
    ],
    [{ direction: "x" }, "400 HTTPBadRequest: Invalid input for direction. Reason: x is not in valid_values."],
    [
      { metering_label_id: "4c326229-f495-48bb-b3db-c5acff390000", remote_ip_prefix: "1.2.3.4/8" },
      "404 MeteringLabelNotFound: Metering label '4c326229-f495-48bb-b3db-c5acff390000' does not exist.",
    ],
  ])("is not created by %o", async (attributes, message) => {
    expect(await rejectionOf(attributes)).toBe(message);
  });

  test("cannot be changed", async () => {
    const { id } = await createRule({ remote_ip_prefix: "10.0.0.0/8" });
    const body = { metering_label_rule: { source_ip_prefix: "1.1.1.1" } };
    expect((await network.send("PUT", `${RULES}/${id}`, body, "admin")).status).toBe(501);
  });

  test("that does not exist has an error of its own", async () => {
    expect(await network.rejection("GET", `${RULES}/nope`, undefined, "admin")).toBe(
      "404 MeteringLabelRuleNotFound: Metering label rule 'nope' does not exist.",
    );
  });
});
