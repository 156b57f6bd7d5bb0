import { beforeEach, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;

beforeEach(() => {
  network = new NetworkHarness();
});

const DEFAULTS = {
  network: 100,
  subnet: 100,
  subnetpool: -1,
  port: 500,
  router: 10,
  floatingip: 50,
  rbac_policy: 10,
  security_group: 10,
  security_group_rule: 100,
  trunk: -1,
};

const update = (project: string, quota: Body) => network.get("PUT", `/quotas/${project}`, { quota }, "admin");

test("a project without limits of its own has Neutron's defaults, in Neutron's order", async () => {
  const quota = await network.get("GET", "/quotas/demo");
  expect(quota).toEqual(DEFAULTS);
  expect(Object.keys(quota)).toEqual(Object.keys(DEFAULTS));
});

test("the cluster's options change the defaults", async () => {
  network = new NetworkHarness({ quotas: { port: 7 } });
  expect(await network.get("GET", "/quotas/demo/default")).toEqual({ ...DEFAULTS, port: 7 });
  expect(await network.get("GET", "/quotas/demo")).toMatchObject({ port: 7 });
});

test("an administrator sets limits, which the list shows until they are deleted", async () => {
  const limits = { ...DEFAULTS, network: 3, port: 0, subnetpool: 5 };
  expect(await update("demo", { network: 3, port: "0", subnetpool: 5.9 })).toEqual(limits);
  expect(await network.get("GET", "/quotas/demo")).toEqual(limits);
  expect(await network.get("GET", "/quotas/demo/default")).toEqual(DEFAULTS);
  const all = await network.send("GET", "/quotas", undefined, "admin");
  expect(all.json("quotas")).toEqual([{ ...limits, project_id: "demo", tenant_id: "demo" }]);
  await network.get("DELETE", "/quotas/demo", undefined, "admin");
  expect(await network.get("GET", "/quotas/demo")).toEqual(DEFAULTS);
  expect(await network.rejection("DELETE", "/quotas/demo", undefined, "admin")).toBe(
    "404 TenantQuotaNotFound: Quota for tenant demo could not be found.",
  );
});

test("the details count what a project has, and create nothing", async () => {
  const path = "/quotas/demo/details.json";
  expect(await network.get("GET", path)).toMatchObject({ security_group: { limit: 10, used: 0, reserved: 0 } });
  await network.get("POST", "/security-groups", { security_group: { name: "web" } });
  expect(await network.get("GET", path)).toMatchObject({
    security_group: { limit: 10, used: 2, reserved: 0 },
    security_group_rule: { limit: 100, used: 6, reserved: 0 },
    port: { limit: 500, used: 0, reserved: 0 },
  });
});

test("a limit below the use is rejected only with check_limit", async () => {
  await network.list("/security-groups");
  const quota = { network: 3, security_group: 0, check_limit: true };
  expect(await network.rejection("PUT", "/quotas/demo", { quota }, "admin")).toBe(
    "400 HTTPBadRequest: Quota limit 0 for security_group must be greater than or equal to already used 1",
  );
  expect(await network.get("GET", "/quotas/demo")).toEqual(DEFAULTS);
  expect(await update("demo", { security_group: -1, check_limit: true })).toMatchObject({ security_group: -1 });
  expect(await update("demo", { security_group: 0, force: true })).toMatchObject({ security_group: 0 });
  expect(await network.rejection("POST", "/security-groups", { security_group: { name: "web" } })).toBe(
    "409 OverQuota: Quota exceeded for resources: ['security_group'].",
  );
});

test.each<[quota: Body, rejection: string]>([
  [{ network: "many" }, "InvalidInput: Invalid input for operation: 'many' is not an integer."],
  [{ network: null }, "InvalidInput: Invalid input for operation: 'None' is not an integer."],
  [{ network: -2 }, "HTTPBadRequest: Invalid input for network. Reason: '-2' is too small - must be at least '-1'."],
  [
    { network: 2 ** 31 },
    "HTTPBadRequest: Invalid input for network. Reason: '2147483648' is too large - must be no larger than '2147483647'.",
  ],
  [{ network: 1, bogus: 1 }, "HTTPBadRequest: Unrecognized attribute(s) 'bogus'"],
])("the limits %o are rejected and none is set", async (quota, rejection) => {
  expect(await network.rejection("PUT", "/quotas/demo", { quota }, "admin")).toBe(`400 ${rejection}`);
  expect(await network.get("GET", "/quotas/demo")).toEqual(DEFAULTS);
});

const GET_RULE = "403 PolicyNotAuthorized: rule:get_quota is disallowed by policy";
const ADMIN_REQUIRED =
  "403 AdminRequired: User does not have admin privileges: Only admin is authorized to access quotas for another project.";

test.each<[method: string, path: string, rejection: string]>([
  ["GET", "/quotas", GET_RULE],
  ["GET", "/quotas/alt", GET_RULE],
  ["GET", "/quotas/alt/default", GET_RULE],
  ["GET", "/quotas/alt/details", ADMIN_REQUIRED],
  ["PUT", "/quotas/demo", "403 PolicyNotAuthorized: rule:update_quota is disallowed by policy"],
  ["DELETE", "/quotas/demo", "403 PolicyNotAuthorized: rule:delete_quota is disallowed by policy"],
])("a member's %s %s is rejected", async (method, path, rejection) => {
  expect(await network.rejection(method, path, method === "PUT" ? { quota: {} } : undefined)).toBe(rejection);
});

test("the project of the caller is shown under both of its names", async () => {
  expect(await network.get("GET", "/quotas/tenant")).toEqual({ tenant_id: "demo" });
  expect(await network.get("GET", "/quotas/project")).toEqual({ project_id: "demo" });
  expect(await network.rejection("GET", "/quotas/tenant", undefined, "unscoped")).toBe(
    "400 QuotaMissingTenant: Tenant-id was missing from quota request.",
  );
});
