import { expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";

test("address scopes are created, shown, listed, changed and deleted", async () => {
  const network = new NetworkHarness();
  const scope = await network.get("POST", "/address-scopes", { address_scope: { name: "one", ip_version: 4 } });
  expect(scope).toMatchObject({ name: "one", ip_version: 4, shared: false, project_id: "demo", tenant_id: "demo" });
  expect(await network.list("/address-scopes?name=one")).toEqual([scope]);
  expect(await network.rejection("GET", `/address-scopes/${scope.id}`, undefined, "alt")).toContain(
    "404 AddressScopeNotFound",
  );
  expect(await network.get("PUT", `/address-scopes/${scope.id}`, { address_scope: { name: "two" } })).toMatchObject({
    name: "two",
  });
  expect(
    await network.rejection("POST", "/address-scopes", { address_scope: { name: "x", ip_version: 4, shared: true } }),
  ).toContain("403 PolicyNotAuthorized");
  await network.get("DELETE", `/address-scopes/${scope.id}`);
  expect(await network.list("/address-scopes")).toEqual([]);
});
