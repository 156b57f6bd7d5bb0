import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;
let policy: string;
let rules: (type: RuleType) => string;

type RuleType = keyof typeof PARAMETERS;

/** The required parameters of each type. */
const PARAMETERS = {
  bandwidth_limit: { max_kbps: 1000 },
  dscp_marking: { dscp_mark: 26 },
  minimum_bandwidth: { min_kbps: 100 },
  minimum_packet_rate: { min_kpps: 100 },
  packet_rate_limit: { max_kpps: 100 },
} as const;

const TYPES = Object.keys(PARAMETERS) as RuleType[];

function create(type: RuleType, attributes: Body = PARAMETERS[type]) {
  return network.get("POST", rules(type), { [`${type}_rule`]: attributes }, "admin");
}

function rejectionOf(type: RuleType, attributes: Body) {
  return network.rejection("POST", rules(type), { [`${type}_rule`]: attributes }, "admin");
}

async function createPolicy(attributes: Body = {}) {
  return String((await network.get("POST", "/qos/policies", { policy: attributes }, "admin")).id);
}

beforeEach(async () => {
  network = new NetworkHarness();
  policy = await createPolicy({ tenant_id: "demo" });
  rules = (type) => `/qos/policies/${policy}/${type}_rules`;
});

describe.each(TYPES)("a rule of type %s", (type) => {
  const body = { [`${type}_rule`]: PARAMETERS[type] };

  test("is created, shown, listed and deleted, without its policy and project", async () => {
    const rule = await create(type);
    expect(rule).toMatchObject(PARAMETERS[type]);
    expect(Object.keys(rule)).not.toEqual(expect.arrayContaining(["policy_id"]));
    expect(Object.keys(rule)).not.toEqual(expect.arrayContaining(["project_id"]));
    expect(await network.get("GET", `${rules(type)}/${rule.id}`)).toEqual(rule);
    expect(await network.list(rules(type), "reader")).toEqual([rule]);
    await network.get("DELETE", `${rules(type)}/${rule.id}`, undefined, "admin");
    expect(await network.list(rules(type))).toEqual([]);
  });

  test("is the only one of its direction", async () => {
    const { id } = await create(type);
    expect(await rejectionOf(type, PARAMETERS[type])).toBe(
      `409 QoSRulesConflict: Rule ${type} conflicts with rule ${id} which already exists in QoS Policy ${policy}.`,
    );
  });

  test("raises the revision of its policy with each change", async () => {
    const revision = async () => (await network.get("GET", `/qos/policies/${policy}`)).revision_number;
    const { id } = await create(type);
    expect(await revision()).toBe(1);
    await network.get("PUT", `${rules(type)}/${id}`, body, "admin");
    expect(await revision()).toBe(2);
    await network.get("DELETE", `${rules(type)}/${id}`, undefined, "admin");
    expect(await revision()).toBe(3);
  });

  test("is read by members of the policy's project, and written by administrators", async () => {
    const { id } = await create(type);
    const forbidden = (operation: string) =>
      `403 PolicyNotAuthorized: rule:${operation}_policy_${type}_rule is disallowed by policy`;
    expect(await network.rejection("POST", rules(type), body)).toBe(forbidden("create"));
    expect(await network.rejection("PUT", `${rules(type)}/${id}`, body)).toBe(forbidden("update"));
    expect(await network.rejection("DELETE", `${rules(type)}/${id}`)).toBe(forbidden("delete"));
  });

  test("is unknown where its policy is", async () => {
    const { id } = await create(type);
    const message = `404 QosPolicyNotFound: QoS policy ${policy} could not be found.`;
    expect(await network.rejection("GET", rules(type), undefined, "alt")).toBe(message);
    expect(await network.rejection("GET", `${rules(type)}/${id}`, undefined, "alt")).toBe(message);
    policy = "nope";
    expect(await rejectionOf(type, PARAMETERS[type])).toBe(
      "404 QosPolicyNotFound: QoS policy nope could not be found.",
    );
  });

  test("is found under its own policy only", async () => {
    const { id } = await create(type);
    policy = await createPolicy();
    const message = `404 QosRuleNotFound: QoS rule ${id} for policy ${policy} could not be found.`;
    expect(await network.rejection("PUT", `${rules(type)}/${id}`, body, "admin")).toBe(message);
    expect(await network.rejection("DELETE", `${rules(type)}/${id}`, undefined, "admin")).toBe(message);
  });
});

test.each(TYPES)(
  "a request to the collection of a policy's %s rules looks for one with the policy's id",
  async (type) => {
    expect(await network.rejection("DELETE", rules(type), undefined, "admin")).toBe(
      `404 QosRuleNotFound: QoS rule ${policy} for policy ${policy} could not be found.`,
    );
  },
);

test.each([
  ["bandwidth_limit", "400 HTTPBadRequest: Resource body required"],
  ["packet_rate_limit", "400 HTTPBadRequest: Unable to find 'packet_rate_limit_rule' in request body"],
] as const)(
  "a %s rule without a body is rejected by the part of Neutron that serves its path",
  async (type, rejection) => {
    expect(await network.rejection("POST", rules(type), {}, "admin")).toBe(rejection);
  },
);

describe("rules of a shared policy", () => {
  test("are hidden from members of other projects", async () => {
    policy = await createPolicy({ shared: true });
    const { id } = await create("dscp_marking");
    expect(await network.list(rules("dscp_marking"))).toEqual([]);
    expect(await network.rejection("GET", `${rules("dscp_marking")}/${id}`)).toBe(
      "404 HTTPNotFound: The resource could not be found.",
    );
  });
});

describe.each([
  [
    "bandwidth_limit",
    { max_kbps: -1 },
    "Invalid input for max_kbps. Reason: '-1' is too small - must be at least '0'.",
  ],
  ["bandwidth_limit", {}, "Failed to parse request. Required attribute 'max_kbps' not specified"],
  [
    "bandwidth_limit",
    { max_kbps: 1, direction: "any" },
    "Invalid input for direction. Reason: any is not in valid_values.",
  ],
  ["dscp_marking", { dscp_mark: 3 }, "Invalid input for dscp_mark. Reason: 3 is not in valid_values."],
] as const)("a %s rule with %o", (type, attributes, message) => {
  test("is invalid", async () => {
    expect(await rejectionOf(type, attributes)).toBe(`400 HTTPBadRequest: ${message}`);
  });
});

describe("the bandwidths of a policy", () => {
  const conflict = (value: number, type: string, existing: number) =>
    `409 QoSRuleParameterConflict: Unable to add the rule with value ${value} to the policy ${policy} as the existing rule of type ${type} has value ${existing}.`;

  test("guarantee no more than they allow", async () => {
    const limit = await create("bandwidth_limit", { max_kbps: 1000 });
    expect(await rejectionOf("minimum_bandwidth", { min_kbps: 2000 })).toBe(conflict(2000, "bandwidth_limit", 1000));
    const minimum = await create("minimum_bandwidth", { min_kbps: 200 });
    const update = (type: RuleType, id: unknown, attributes: Body) =>
      network.rejection("PUT", `${rules(type)}/${id}`, { [`${type}_rule`]: attributes }, "admin");
    expect(await update("bandwidth_limit", limit.id, { max_kbps: 100 })).toBe(conflict(100, "minimum_bandwidth", 200));
    expect(await update("minimum_bandwidth", minimum.id, { min_kbps: 3000 })).toBe(
      conflict(3000, "bandwidth_limit", 1000),
    );
  });

  test("may differ between directions", async () => {
    await create("bandwidth_limit", { max_kbps: 1000 });
    const ingress = await create("bandwidth_limit", { max_kbps: 2000, direction: "ingress" });
    expect(
      await network.rejection(
        "PUT",
        `${rules("bandwidth_limit")}/${ingress.id}`,
        { bandwidth_limit_rule: { direction: "egress" } },
        "admin",
      ),
    ).toContain("409 QoSRulesConflict");
  });
});

test("packet rates are of one direction each or of both together", async () => {
  await create("minimum_packet_rate", { min_kpps: 1, direction: "ingress" });
  expect(await rejectionOf("minimum_packet_rate", { min_kpps: 2, direction: "any" })).toBe(
    `409 QoSRuleParameterConflict: Unable to add the rule with value any to the policy ${policy} as the existing rule of type minimum_packet_rate has value ingress.`,
  );
});

test("several rules are created by one request", async () => {
  const items = ["ingress", "egress"].map((direction) => ({ max_kbps: 5, direction }));
  const reply = await network.send("POST", rules("bandwidth_limit"), { bandwidth_limit_rules: items }, "admin");
  expect(reply.status).toBe(201);
  expect(await network.list(`${rules("bandwidth_limit")}?max_kbps=5&fields=direction`)).toEqual([
    { direction: "ingress" },
    { direction: "egress" },
  ]);
});

test("bandwidth limits cannot be filtered by direction, other rules can", async () => {
  expect(await network.rejection("GET", `${rules("bandwidth_limit")}?direction=ingress`)).toBe(
    "400 HTTPBadRequest: ['direction'] is invalid attribute for filtering",
  );
  await create("packet_rate_limit");
  expect(await network.list(`${rules("packet_rate_limit")}?direction=ingress`)).toEqual([]);
});

test.each(["minimum-packet-rate-rules", "minimum_packet_rate_rules"])(
  "minimum packet rates have the path %s",
  async (path) => {
    const rule = await create("minimum_packet_rate");
    expect(await network.list(`/qos/policies/${policy}/${path}`)).toEqual([rule]);
  },
);

describe.each(["bandwidth_limit", "dscp_marking", "minimum_bandwidth", "minimum_packet_rate"] as const)(
  "the alias of a %s rule",
  (type) => {
    const key = `alias_${type}_rule`;
    const path = (id: unknown) => `/qos/alias-${type.replaceAll("_", "-")}-rules/${id}`;

    test("shows, changes and deletes the same rule", async () => {
      const rule = await create(type);
      expect(await network.get("GET", path(rule.id))).toEqual(rule);
      const [name = ""] = Object.keys(PARAMETERS[type]);
      const changed = await network.get("PUT", path(rule.id), { [key]: { [name]: 8 } }, "admin");
      expect(changed).toEqual({ ...rule, [name]: 8 });
      expect(await network.list(rules(type))).toEqual([changed]);
      await network.get("DELETE", path(rule.id), undefined, "admin");
      expect(await network.list(rules(type))).toEqual([]);
      expect(await network.get("GET", `/qos/policies/${policy}`)).toMatchObject({ revision_number: 3 });
    });

    test("is unknown with its policy, or without it if there is none", async () => {
      const { id } = await create(type);
      expect(await network.rejection("GET", path(id), undefined, "alt")).toBe(
        `404 QosPolicyNotFound: QoS policy ${policy} could not be found.`,
      );
      expect(await network.rejection("GET", path("nope"), undefined, "admin")).toBe(
        "404 QosRuleNotFound: QoS rule nope for policy  could not be found.",
      );
    });
  },
);

describe("a policy that ports have", () => {
  const createPort = async (attributes: Body) => {
    const { id } = await network.get("POST", "/networks", { network: attributes }, "admin");
    return network.get("POST", "/ports", { port: { network_id: id, qos_policy_id: policy } }, "admin");
  };

  test("gets no guaranteed bandwidth if a port's network is not physical", async () => {
    const { id } = await createPort({});
    expect(await rejectionOf("minimum_bandwidth", { min_kbps: 1 })).toBe(
      `409 QosRuleNotSupported: Rule minimum_bandwidth is not supported by port ${id}`,
    );
    await create("minimum_packet_rate");
  });

  test("with guaranteed bandwidth is for physical networks only", async () => {
    await create("minimum_bandwidth");
    const { id } = await network.get("POST", "/networks", { network: {} }, "admin");
    const unsupported = "409 QosRuleNotSupportedByNetwork: Rule minimum_bandwidth is not supported by network ";
    const body = { network: { qos_policy_id: policy } };
    expect(await network.rejection("PUT", `/networks/${id}`, body, "admin")).toBe(unsupported + id);
    expect(await network.rejection("POST", "/networks", body, "admin")).toContain(unsupported);
  });

  test("gets guaranteed bandwidth if the networks of its ports are physical", async () => {
    await createPort({ "provider:network_type": "vlan", "provider:physical_network": "physnet1" });
    await create("minimum_bandwidth");
  });

  test("cannot change what servers have allocated", async () => {
    const { id } = await createPort({});
    await network.get("PUT", `/ports/${id}`, { port: { device_owner: "compute:nova" } }, "admin");
    const reply = await network.send(
      "POST",
      rules("minimum_packet_rate"),
      { minimum_packet_rate_rule: { min_kpps: 1 } },
      "admin",
    );
    expect([reply.status, reply.json("NotImplementedError", "message")]).toEqual([
      501,
      "Cannot update QoS policies/rules backed by resources tracked in Placement",
    ]);
  });
});
