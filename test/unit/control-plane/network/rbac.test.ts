import { describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

const OBJECTS = [
  ["network", "/networks", { network: { name: "n" } }],
  ["security_group", "/security-groups", { security_group: { name: "n" } }],
  ["qos_policy", "/qos/policies", { policy: { name: "n" } }],
  ["address_scope", "/address-scopes", { address_scope: { name: "n", ip_version: 4 } }],
  ["subnetpool", "/subnetpools", { subnetpool: { name: "n", prefixes: ["10.0.0.0/8"] } }],
  ["address_group", "/address-groups", { address_group: { name: "n" } }],
] as const;

function share(network: NetworkHarness, attributes: Body): Promise<Body> {
  return network.get("POST", "/rbac-policies", { rbac_policy: { action: "access_as_shared", ...attributes } }, "admin");
}

describe.each(OBJECTS)("an RBAC policy of a %s", (objectType, url, body) => {
  test("makes it visible to the target alone, until the policy is deleted", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", url, body, "admin");
    const isVisible = async () => (await network.send("GET", `${url}/${id}`, undefined, "alt")).status === 200;
    expect(await isVisible()).toBe(false);
    const policy = await share(network, { object_type: objectType, object_id: id, target_tenant: "alt" });
    expect(policy).toEqual({
      id: policy.id,
      object_type: objectType,
      object_id: id,
      action: "access_as_shared",
      target_tenant: "alt",
      project_id: "admin",
      tenant_id: "admin",
    });
    expect(await isVisible()).toBe(true);
    expect((await network.send("GET", `${url}/${id}`, undefined, "demo")).status).toBe(404);
    await network.get("DELETE", `/rbac-policies/${policy.id}`, undefined, "admin");
    expect(await isVisible()).toBe(false);
  });

  test("goes with the object", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", url, body, "admin");
    await share(network, { object_type: objectType, object_id: id, target_tenant: "alt" });
    await network.get("DELETE", `${url}/${id}`, undefined, "admin");
    expect(await network.list("/rbac-policies", "admin")).toEqual([]);
  });
});

describe("shared", () => {
  test.each(OBJECTS.filter(([type]) => ["network", "qos_policy", "address_scope"].includes(type)))(
    "of a %s stands for a policy for all projects",
    async (objectType, url, body) => {
      const network = new NetworkHarness();
      const [[key, attributes] = ["", {}]] = Object.entries(body);
      const { id } = await network.get("POST", url, { [key]: { ...attributes, shared: true } }, "admin");
      const policies = () => network.list(`/rbac-policies?object_id=${id}`, "admin");
      expect(await policies()).toMatchObject([
        { object_type: objectType, action: "access_as_shared", target_tenant: "*", project_id: "admin" },
      ]);
      expect(await network.get("GET", `${url}/${id}`, undefined, "alt")).toMatchObject({ shared: true });
      if (objectType !== "address_scope") {
        await network.get("PUT", `${url}/${id}`, { [key]: { shared: false } }, "admin");
        expect(await policies()).toEqual([]);
        await network.get("PUT", `${url}/${id}`, { [key]: { shared: true } }, "admin");
      }
      expect(await policies()).toHaveLength(1);
    },
  );

  test.each([
    ["/networks", { network: { name: "n" } }, "demo"],
    ["/qos/policies", { policy: { name: "n" } }, "admin"],
    ["/address-scopes", { address_scope: { name: "n", ip_version: 4 } }, "admin"],
  ])("that a change of %s %j sets creates a policy of %s", async (url, body, owner) => {
    const network = new NetworkHarness();
    const [[key, attributes] = ["", {}]] = Object.entries(body);
    const { id } = await network.get("POST", url, { [key]: { ...attributes, project_id: "demo" } }, "admin");
    await network.get("PUT", `${url}/${id}`, { [key]: { shared: true } }, "admin");
    expect(await network.list(`/rbac-policies?object_id=${id}`, "admin")).toMatchObject([{ project_id: owner }]);
  });

  test("of a network that is not shared may be false although other projects use the network", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    await network.get("POST", "/ports", { port: { network_id: id } }, "admin");
    const unshare = { network: { shared: false } };
    expect(await network.get("PUT", `/networks/${id}`, unshare, "admin")).toMatchObject({ shared: false });
    await network.get("PUT", `/networks/${id}`, { network: { shared: true } }, "admin");
    expect(await network.rejection("PUT", `/networks/${id}`, unshare, "admin")).toContain("409 InvalidSharedSetting");
  });

  test("is true only for projects that a policy names", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    await share(network, { object_type: "network", object_id: id, target_tenant: "alt" });
    expect(await network.get("GET", `/networks/${id}`)).toMatchObject({ shared: false });
    expect(await network.get("GET", `/networks/${id}`, undefined, "alt")).toMatchObject({ shared: true });
    expect(await network.list("/networks?shared=true", "alt")).toHaveLength(1);
    expect(await network.list("/networks?shared=true")).toEqual([]);
  });
});

describe("a request for an RBAC policy", () => {
  const UNKNOWN = "00000000-0000-4000-8000-000000000000";
  test.each([
    [
      { action: "bogus" },
      "400 InvalidActionForType: Invalid action 'bogus' for object type 'network'. Valid actions: ('access_as_shared', 'access_as_external')",
    ],
    [
      { object_type: "bogus" },
      "400 InvalidInput: Invalid input for operation: 'bogus' is not a valid RBAC object type.",
    ],
    [{ object_id: UNKNOWN }, `400 InvalidInput: Invalid input for operation: Network ${UNKNOWN} could not be found.`],
    [
      { target_tenant: "*" },
      "403 PolicyNotAuthorized: ((((rule:create_rbac_policy and rule:create_rbac_policy:object_type) and rule:create_rbac_policy:object_id) and rule:create_rbac_policy:target_tenant) and rule:create_rbac_policy:action) is disallowed by policy",
    ],
  ])("with %j is rejected", async (attributes, rejection) => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    const valid = { object_type: "network", object_id: id, action: "access_as_shared", target_tenant: "alt" };
    const body = { rbac_policy: { ...valid, ...attributes } };
    expect(await network.rejection("POST", "/rbac-policies", body)).toBe(rejection);
  });

  test("for an object of another project is rejected", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { shared: true } }, "admin");
    const policy = { object_type: "network", object_id: id, action: "access_as_shared", target_tenant: "alt" };
    expect(await network.rejection("POST", "/rbac-policies", { rbac_policy: policy })).toBe(
      "400 InvalidInput: Invalid input for operation: Only admins can manipulate policies on objects they do not own.",
    );
  });

  test.each([{ target_tenant: "else" }, { target_tenant: "alt" }, {}])(
    "changing one of another project's object to %j is rejected",
    async (changes) => {
      const network = new NetworkHarness();
      const { id } = await network.get("POST", "/networks", { network: {} }, "admin");
      const attributes = { object_type: "network", object_id: id, target_tenant: "alt", project_id: "demo" };
      const policy = await share(network, attributes);
      expect(await network.rejection("PUT", `/rbac-policies/${policy.id}`, { rbac_policy: changes })).toBe(
        `409 RbacPolicyInUse: RBAC policy on object ${id} cannot be removed because other objects depend on it.\nDetails: Invalid input for operation: Only admins can manipulate policies on objects they do not own.`,
      );
    },
  );

  test("that exists already is rejected", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    const policy = { object_type: "network", object_id: id, action: "access_as_shared", target_tenant: "alt" };
    await network.get("POST", "/rbac-policies", { rbac_policy: policy });
    expect(await network.rejection("POST", "/rbac-policies", { rbac_policy: policy })).toBe(
      "409 DuplicateRbacPolicy: An RBAC policy already exists with those values.",
    );
  });

  test("beyond the quota of ten is rejected", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    const request = (target: string) => {
      const policy = { object_type: "network", object_id: id, action: "access_as_shared", target_tenant: target };
      return ["POST", "/rbac-policies", { rbac_policy: policy }] as const;
    };
    for (let index = 0; index < 10; index += 1) {
      await network.get(...request(`project${index}`));
    }
    expect(await network.rejection(...request("alt"))).toBe(
      "409 OverQuota: Quota exceeded for resources: ['rbac_policy'].",
    );
  });
});

describe("an RBAC policy that a project depends on", () => {
  const IN_USE = (id: unknown) =>
    `409 RbacPolicyInUse: RBAC policy on object ${id} cannot be removed because other objects depend on it.`;

  test("of a network cannot be removed while the project has ports there", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    const policy = await share(network, { object_type: "network", object_id: id, target_tenant: "alt" });
    const port = await network.get("POST", "/ports", { port: { network_id: id } }, "alt");
    const url = `/rbac-policies/${policy.id}`;
    expect(await network.rejection("DELETE", url, undefined, "admin")).toContain(IN_USE(id));
    const body = { rbac_policy: { target_tenant: "else" } };
    expect(await network.rejection("PUT", url, body, "admin")).toContain(IN_USE(id));
    await network.get("DELETE", `/ports/${port.id}`, undefined, "alt");
    expect(await network.get("PUT", url, body, "admin")).toMatchObject({ target_tenant: "else" });
    await network.get("DELETE", url, undefined, "admin");
  });

  test("of a network can be deleted if another one gives the same access", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { shared: true } }, "admin");
    const policy = await share(network, { object_type: "network", object_id: id, target_tenant: "alt" });
    await network.get("POST", "/ports", { port: { network_id: id } }, "alt");
    await network.get("DELETE", `/rbac-policies/${policy.id}`, undefined, "admin");
    const [wildcard] = await network.list("/rbac-policies", "admin");
    expect(await network.rejection("DELETE", `/rbac-policies/${wildcard?.id}`, undefined, "admin")).toContain(
      IN_USE(id),
    );
  });

  test("of an address group cannot be removed while the project has rules that name it", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/address-groups", { address_group: { name: "a" } });
    const policy = await share(network, { object_type: "address_group", object_id: id, target_tenant: "alt" });
    const group = await network.get("POST", "/security-groups", { security_group: { name: "g" } }, "alt");
    const rule = { security_group_id: group.id, direction: "ingress", remote_address_group_id: id };
    await network.get("POST", "/security-group-rules", { security_group_rule: rule }, "alt");
    expect(await network.rejection("DELETE", `/rbac-policies/${policy.id}`, undefined, "admin")).toBe(
      `${IN_USE(id)}\nDetails: project_id=alt`,
    );
  });

  test("of an external network cannot be removed while a router has its gateway there", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { "router:external": true } }, "admin");
    await network.get("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.9.0.0/24" } }, "admin");
    await network.get("POST", "/routers", { router: { external_gateway_info: { network_id: id } } }, "demo");
    const [policy] = await network.list("/rbac-policies", "admin");
    expect(await network.rejection("DELETE", `/rbac-policies/${policy?.id}`, undefined, "admin")).toBe(
      `${IN_USE(id)}\nDetails: There are routers attached to this network that depend on this policy for access.`,
    );
  });
});

test("a policy makes a network external, and its deletion makes the network internal", async () => {
  const network = new NetworkHarness();
  const { id } = await network.get("POST", "/networks", { network: {} });
  const external = { object_type: "network", object_id: id, action: "access_as_external", target_tenant: "alt" };
  const policy = await network.get("POST", "/rbac-policies", { rbac_policy: external });
  expect(await network.get("GET", `/networks/${id}`, undefined, "alt")).toMatchObject({ "router:external": true });
  await network.get("DELETE", `/rbac-policies/${policy.id}`);
  expect(await network.get("GET", `/networks/${id}`)).toMatchObject({ "router:external": false });
});

test("a subnet pool in an address scope is shared only with projects that see the scope", async () => {
  const network = new NetworkHarness();
  const scope = await network.get("POST", "/address-scopes", { address_scope: { name: "s", ip_version: 4 } });
  const attributes = { name: "p", prefixes: ["10.0.0.0/8"], address_scope_id: scope.id };
  const pool = await network.get("POST", "/subnetpools", { subnetpool: attributes });
  const policy = { object_type: "subnetpool", object_id: pool.id, action: "access_as_shared", target_tenant: "alt" };
  expect(await network.rejection("POST", "/rbac-policies", { rbac_policy: policy })).toContain(
    `Failed to create RBAC policy on object ${pool.id} because target project doesn't have access to associated address scope.`,
  );
  await share(network, { object_type: "address_scope", object_id: scope.id, target_tenant: "alt" });
  await network.get("POST", "/rbac-policies", { rbac_policy: policy });
});
