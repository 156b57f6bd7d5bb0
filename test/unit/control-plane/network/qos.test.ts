import { beforeEach, describe, expect, test } from "vitest";
import { minimumRulesOf } from "../../../../src/control-plane/network/qos/minimum-rules.js";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;
let policy: Body;

const createPolicy = (attributes: Body = {}) => network.get("POST", "/qos/policies", { policy: attributes }, "admin");

beforeEach(async () => {
  network = new NetworkHarness();
  policy = await createPolicy({ name: "gold", shared: true });
});

describe("a QoS policy", () => {
  test("has no rules when it is created", () => {
    expect(policy).toEqual({
      id: policy.id,
      name: "gold",
      description: "",
      project_id: "admin",
      tenant_id: "admin",
      shared: true,
      is_default: false,
      rules: [],
      tags: [],
      revision_number: 0,
      created_at: policy.created_at,
      updated_at: policy.created_at,
    });
  });

  test("shows its rules by type, with their types, and the revision that they raised", async () => {
    const { rules } = await createRules();
    expect(await network.get("GET", `/qos/policies/${policy.id}`)).toMatchObject({
      rules: [
        { ...rules[1], qos_policy_id: policy.id, type: "bandwidth_limit" },
        { ...rules[0], qos_policy_id: policy.id, type: "dscp_marking" },
      ],
      revision_number: 2,
    });
    expect(await network.list("/qos/policies?fields=rules&fields=shared")).toEqual([
      {
        shared: true,
        rules: [expect.objectContaining({ max_kbps: 1000 }), expect.objectContaining({ dscp_mark: 26 })],
      },
    ]);
  });

  test("is found by members of other projects only if it is shared", async () => {
    const own = await createPolicy({ name: "silver" });
    expect((await network.list("/qos/policies")).map(({ name }) => name)).toEqual(["gold"]);
    // Neutron's policy does not find out that it is shared.
    expect(await network.list("/qos/policies?fields=name")).toEqual([]);
    expect(await network.rejection("GET", `/qos/policies/${own.id}`)).toBe(
      `404 QosPolicyNotFound: QoS policy ${own.id} could not be found.`,
    );
  });

  test("that is shared is no resource to an update of a member, and forbidden to its delete, as in Neutron", async () => {
    const path = `/qos/policies/${policy.id}`;
    expect(await network.rejection("PUT", path, { policy: { name: "x" } })).toBe(
      "404 HTTPNotFound: The resource could not be found.",
    );
    expect(await network.rejection("DELETE", path)).toBe(
      "403 PolicyNotAuthorized: rule:delete_policy is disallowed by policy",
    );
  });

  test("cannot be created by members", async () => {
    expect(await network.rejection("POST", "/qos/policies", { policy: { name: "x" } })).toBe(
      "403 PolicyNotAuthorized: rule:create_policy is disallowed by policy",
    );
  });

  test("cannot be deleted while a network has it", async () => {
    const { id } = await network.get("POST", "/networks", { network: { qos_policy_id: policy.id } });
    expect(await network.rejection("DELETE", `/qos/policies/${policy.id}`, undefined, "admin")).toBe(
      `409 QosPolicyInUse: QoS Policy ${policy.id} is used by network ${id}.`,
    );
    await network.get("PUT", `/networks/${id}`, { network: { qos_policy_id: null } });
    await network.get("DELETE", `/qos/policies/${policy.id}`, undefined, "admin");
  });

  test.each(["networks", "ports"])("of another project stays with %s until it is shared", async (collection) => {
    const own = await createPolicy({ name: "silver" });
    const { id: networkId } = await network.get("POST", "/networks", { network: {} });
    const port = await network.get("POST", "/ports", { port: { network_id: networkId } });
    const path = collection === "networks" ? `/networks/${networkId}` : `/ports/${port.id}`;
    const change = (policyId: unknown) => ({ [collection.slice(0, -1)]: { qos_policy_id: policyId } });
    await network.get("PUT", path, change(own.id), "admin");
    for (const policyId of [null, policy.id, own.id]) {
      expect(await network.rejection("PUT", path, change(policyId))).toBe(
        `403 PolicyRemoveAuthorizationError: Failed to remove provided policy ${own.id} because you are not authorized.`,
      );
    }
    await network.get("PUT", `/qos/policies/${own.id}`, { policy: { shared: true } }, "admin");
    expect(await network.get("PUT", path, change(null))).toMatchObject({ qos_policy_id: null });
  });

  test("is deleted with its rules", async () => {
    await createRules();
    await network.get("DELETE", `/qos/policies/${policy.id}`, undefined, "admin");
    expect(await network.rejection("GET", `/qos/policies/${policy.id}/dscp_marking_rules`, undefined, "admin")).toBe(
      `404 QosPolicyNotFound: QoS policy ${policy.id} could not be found.`,
    );
  });

  test("keeps its revision when an update changes nothing", async () => {
    const path = `/qos/policies/${policy.id}`;
    expect(await network.get("PUT", path, { policy: { name: "gold" } }, "admin")).toMatchObject({ revision_number: 0 });
    expect(await network.get("PUT", path, { policy: { name: "x" } }, "admin")).toMatchObject({ revision_number: 1 });
  });

  test("can be found by the short path that Neutron also has", async () => {
    expect(await network.get("GET", `/policies/${policy.id}`)).toEqual(policy);
  });
});

describe("the default policy of a project", () => {
  test("is the only one", async () => {
    await createPolicy({ is_default: true });
    const rejection = "409 QoSPolicyDefaultAlreadyExists: A default QoS policy exists for project admin.";
    expect(await network.rejection("POST", "/qos/policies", { policy: { is_default: true } }, "admin")).toBe(rejection);
    expect(
      await network.rejection("PUT", `/qos/policies/${policy.id}`, { policy: { is_default: true } }, "admin"),
    ).toBe(rejection);
  });

  test("gives way to another when it is no default any more", async () => {
    const first = await createPolicy({ is_default: true });
    await network.get("PUT", `/qos/policies/${first.id}`, { policy: { is_default: false } }, "admin");
    const second = await network.get("PUT", `/qos/policies/${policy.id}`, { policy: { is_default: true } }, "admin");
    expect(second.is_default).toBe(true);
  });

  test("looks like any other policy to other projects", async () => {
    const { id } = await createPolicy({ is_default: true, shared: true });
    expect(await network.get("GET", `/qos/policies/${id}`, undefined, "admin")).toMatchObject({ is_default: true });
    expect(await network.get("GET", `/qos/policies/${id}`)).toMatchObject({ is_default: false });
  });

  test("is listed with the others, whatever the filter is", async () => {
    await createPolicy({ is_default: true });
    for (const value of ["true", "false"]) {
      expect(await network.list(`/qos/policies?is_default=${value}`, "admin")).toHaveLength(2);
    }
  });

  test("is that of its new networks, even of those that ask for none", async () => {
    const { id } = await createPolicy({ is_default: true, tenant_id: "demo" });
    for (const attributes of [{}, { qos_policy_id: null }]) {
      expect(await network.get("POST", "/networks", { network: attributes })).toMatchObject({ qos_policy_id: id });
    }
  });
});

describe("rule types", () => {
  test.each(["", "?all_supported=true", "?all_rules=true"])("are all types for each filter: %s", async (query) => {
    const types = await network.list(`/qos/rule-types${query}`);
    expect(types.map(({ type }) => type).sort()).toEqual([
      "bandwidth_limit",
      "dscp_marking",
      "minimum_bandwidth",
      "minimum_packet_rate",
      "packet_rate_limit",
    ]);
    expect(Object.keys(types[0] ?? {})).toEqual(["type"]);
  });

  test("show administrators the driver and its parameters", async () => {
    expect(await network.get("GET", "/qos/rule-types/minimum_packet_rate", undefined, "admin")).toEqual({
      type: "minimum_packet_rate",
      drivers: [
        {
          name: "openvswitch",
          supported_parameters: [
            {
              parameter_name: "min_kpps",
              parameter_values: { start: 0, end: 2147483647 },
              parameter_type: "range",
            },
            {
              parameter_name: "direction",
              parameter_values: ["any", "ingress", "egress"],
              parameter_type: "choices",
            },
          ],
        },
      ],
    });
    expect(await network.rejection("GET", "/qos/rule-types/dscp_marking")).toBe("403 NotAuthorized: Not authorized.");
  });

  test("cannot be filtered by their name", async () => {
    expect(await network.rejection("GET", "/qos/rule-types?type=dscp_marking")).toBe(
      "400 HTTPBadRequest: ['type'] is invalid attribute for filtering",
    );
  });
});

test("minimum rules of several policies are found at once, bandwidths first", async () => {
  const other = await createPolicy();
  const path = `/qos/policies/${policy.id}`;
  const packets = await network.get(
    "POST",
    `${path}/minimum_packet_rate_rules`,
    { minimum_packet_rate_rule: { min_kpps: 7, direction: "any" } },
    "admin",
  );
  const bandwidth = await network.get(
    "POST",
    `${path}/minimum_bandwidth_rules`,
    { minimum_bandwidth_rule: { min_kbps: 50 } },
    "admin",
  );
  await createRules();
  const rules = minimumRulesOf(network.context, [String(policy.id), String(other.id)]);
  expect(Object.fromEntries(rules)).toEqual({
    [String(policy.id)]: [
      { id: bandwidth.id, type: "minimum_bandwidth", direction: "egress", rate: 50 },
      { id: packets.id, type: "minimum_packet_rate", direction: "any", rate: 7 },
    ],
  });
});

async function createRules() {
  const path = `/qos/policies/${policy.id}`;
  const dscp = await network.get(
    "POST",
    `${path}/dscp_marking_rules`,
    { dscp_marking_rule: { dscp_mark: 26 } },
    "admin",
  );
  const limit = await network.get(
    "POST",
    `${path}/bandwidth_limit_rules`,
    { bandwidth_limit_rule: { max_kbps: "1000" } },
    "admin",
  );
  return { rules: [dscp, limit] };
}
