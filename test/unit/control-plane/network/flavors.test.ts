import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

const UNKNOWN = "4c326229-f495-48bb-b3db-c5acff390000";
const DRIVERS = "neutron.services.l3_router.service_providers";
const DRIVER = `${DRIVERS}.single_node.SingleNodeDriver`;

let network: NetworkHarness;

function createFlavor(attributes: Body = {}) {
  return network.get("POST", "/flavors", { flavor: { service_type: "L3_ROUTER_NAT", ...attributes } }, "admin");
}

function createProfile(attributes: Body = { metainfo: "{}" }) {
  return network.get("POST", "/service_profiles", { service_profile: attributes }, "admin");
}

const profilesOf = (flavorId: unknown) => `/flavors/${flavorId}/service_profiles`;

function associate(flavorId: unknown, id: unknown) {
  return network.get("POST", profilesOf(flavorId), { service_profile: { id } }, "admin");
}

beforeEach(() => {
  network = new NetworkHarness();
});

describe("a flavor", () => {
  test("belongs to no project, and all users see it", async () => {
    const flavor = await createFlavor({ name: "flavor1", tenant_id: "demo" });
    expect(flavor).toEqual({
      id: flavor.id,
      name: "flavor1",
      description: "",
      service_type: "L3_ROUTER_NAT",
      enabled: true,
      service_profiles: [],
    });
    expect(await network.list("/flavors", "alt")).toEqual([flavor]);
  });

  test("is written by administrators only", async () => {
    const { id } = await createFlavor();
    const forbidden = (operation: string) =>
      `403 PolicyNotAuthorized: rule:${operation}_flavor is disallowed by policy`;
    const flavor = { service_type: "QOS" };
    expect(await network.rejection("POST", "/flavors", { flavor })).toBe(forbidden("create"));
    expect(await network.rejection("PUT", `/flavors/${id}`, { flavor: { name: "x" } })).toBe(forbidden("update"));
    expect(await network.rejection("DELETE", `/flavors/${id}`)).toBe(forbidden("delete"));
  });

  test("is of a type of service that exists", async () => {
    const flavor = { service_type: "x" };
    expect(await network.rejection("POST", "/flavors", { flavor }, "admin")).toBe(
      "400 InvalidServiceType: Invalid service type: x.",
    );
  });

  test("is enabled unless a request says otherwise", async () => {
    expect(await createFlavor({ enabled: null })).toMatchObject({ enabled: true });
    const disabled = await createFlavor({ enabled: "false" });
    expect(await network.list("/flavors?enabled=false")).toEqual([disabled]);
  });

  test("keeps its profiles when an update lists none", async () => {
    const [flavor, profile] = [await createFlavor(), await createProfile()];
    await associate(flavor.id, profile.id);
    const body = { flavor: { name: "x", service_profiles: [] } };
    expect(await network.get("PUT", `/flavors/${flavor.id}`, body, "admin")).toMatchObject({
      name: "x",
      service_profiles: [profile.id],
    });
  });

  test("is not deleted while a router has it", async () => {
    const { id } = await createFlavor();
    await associate(id, (await createProfile({ driver: DRIVER })).id);
    const router = await network.get("POST", "/routers", { router: { flavor_id: id } }, "admin");
    expect(await network.rejection("DELETE", `/flavors/${id}`, undefined, "admin")).toBe(
      `409 FlavorInUse: Flavor ${id} is used by some service instance.`,
    );
    await network.get("DELETE", `/routers/${router.id}`, undefined, "admin");
    await network.get("DELETE", `/flavors/${id}`, undefined, "admin");
  });
});

describe("a router with a flavor", () => {
  async function createFlavorOf(driver: string) {
    const { id } = await createFlavor();
    await associate(id, (await createProfile({ driver: `${DRIVERS}.${driver}` })).id);
    return id;
  }

  const rejectedRouter = (router: Body) => network.rejection("POST", "/routers", { router }, "admin");

  test.each([
    ["single_node.SingleNodeDriver", { distributed: false, ha: false }, "single_node"],
    ["dvr.DvrDriver", { distributed: true, ha: false }, "dvr"],
    ["ha.HaDriver", { distributed: false, ha: true }, "ha"],
    ["dvrha.DvrHaDriver", { distributed: true, ha: true }, "dvrha"],
  ])("of %s is %j and nothing else", async (driver, { distributed, ha }, provider) => {
    const id = await createFlavorOf(driver);
    const router = { flavor_id: id, admin_state_up: false };
    await network.get("POST", "/routers", { router: { ...router, distributed, ha } }, "admin");
    const { id: routerId } = await network.get("POST", "/routers", { router }, "admin");
    for (const [name, flag] of Object.entries({ distributed: !distributed, ha: !ha })) {
      const text = `Provider ${provider} does not support ${name}=${flag ? "True" : "False"}`;
      expect(await rejectedRouter({ ...router, [name]: flag })).toBe(
        `400 InvalidInput: Invalid input for operation: ${text}.`,
      );
      expect(await network.rejection("PUT", `/routers/${routerId}`, { router: { [name]: flag } }, "admin")).toBe(
        "400 InvalidInput: Invalid input for operation: Changing the 'ha' and 'distributed' attributes on a router " +
          "associated with a flavor is not supported.",
      );
    }
  });

  test("needs a service profile", async () => {
    const { id } = await createFlavor();
    expect(await rejectedRouter({ flavor_id: id })).toBe(
      `404 FlavorServiceProfileBindingNotFound: Service Profile  is not associated with flavor ${id}.`,
    );
  });
});

describe("a service profile", () => {
  const rejectionOf = (attributes: Body) =>
    network.rejection("POST", "/service_profiles", { service_profile: attributes }, "admin");

  test("has parameters or a known driver", async () => {
    const profile = await createProfile({ driver: DRIVER, description: null });
    expect(profile).toEqual({ id: profile.id, description: null, driver: DRIVER, enabled: true, metainfo: "" });
    expect(await rejectionOf({})).toBe("400 ServiceProfileEmpty: Service Profile needs either a driver or metainfo.");
    expect(await rejectionOf({ driver: "x" })).toBe(
      "404 ServiceProfileDriverNotFound: Service Profile driver x could not be found.",
    );
    expect(await rejectionOf({ metainfo: {} })).toBe(
      "400 HTTPBadRequest: The request has a value of an unexpected type.",
    );
  });

  test("is hidden from members", async () => {
    const { id } = await createProfile();
    expect(await network.list("/service_profiles")).toEqual([]);
    const hidden = "404 HTTPNotFound: The resource could not be found.";
    expect(await network.rejection("GET", `/service_profiles/${id}`)).toBe(hidden);
    expect(await network.rejection("PUT", `/service_profiles/${id}`, { service_profile: {} })).toBe(hidden);
  });

  test("is neither changed nor deleted while a flavor has it", async () => {
    const [flavor, { id }] = [await createFlavor(), await createProfile()];
    const body = { service_profile: { description: "x" } };
    expect(await network.get("PUT", `/service_profiles/${id}`, body, "admin")).toMatchObject({ description: "x" });
    await associate(flavor.id, id);
    const inUse = `409 ServiceProfileInUse: Service Profile ${id} is used by some service instance.`;
    expect(await network.rejection("PUT", `/service_profiles/${id}`, body, "admin")).toBe(inUse);
    expect(await network.rejection("DELETE", `/service_profiles/${id}`, undefined, "admin")).toBe(inUse);
  });
});

describe("the profiles of a flavor", () => {
  test("are associated, shown with the flavor, and dissociated", async () => {
    const [flavor, profile] = [await createFlavor(), await createProfile()];
    expect(await associate(flavor.id, profile.id)).toEqual({ id: flavor.id });
    expect(await network.get("GET", `/flavors/${flavor.id}`)).toMatchObject({ service_profiles: [profile.id] });
    const path = `${profilesOf(flavor.id)}/${profile.id}`;
    await network.get("DELETE", path, undefined, "admin");
    expect(await network.rejection("DELETE", path, undefined, "admin")).toBe(
      `404 FlavorServiceProfileBindingNotFound: Service Profile ${profile.id} is not associated with flavor ${flavor.id}.`,
    );
    expect(await network.rejection("GET", `${profilesOf("x")}/${profile.id}`, undefined, "admin")).toContain(
      "404 FlavorServiceProfileBindingNotFound",
    );
    await network.get("DELETE", `/service_profiles/${profile.id}`, undefined, "admin");
  });

  test("can have several flavors, and each flavor once", async () => {
    const [first, second, { id }] = [await createFlavor(), await createFlavor(), await createProfile()];
    await associate(first.id, id);
    await associate(second.id, id);
    const body = { service_profile: { id } };
    expect(await network.rejection("POST", profilesOf(first.id), body, "admin")).toBe(
      `409 FlavorServiceProfileBindingExists: Service Profile ${id} is already associated with flavor ${first.id}.`,
    );
    await network.get("DELETE", `/flavors/${first.id}`, undefined, "admin");
    expect(await network.get("GET", `/flavors/${second.id}`)).toMatchObject({ service_profiles: [id] });
  });

  test("exist, as the flavor does", async () => {
    const [flavor, profile] = [await createFlavor(), await createProfile()];
    const reject = (flavorId: unknown, id: unknown, caller: "admin" | "demo" = "admin") =>
      network.rejection("POST", profilesOf(flavorId), { service_profile: { id } }, caller);
    expect(await reject(flavor.id, UNKNOWN)).toBe(
      `404 ServiceProfileNotFound: Service Profile ${UNKNOWN} could not be found.`,
    );
    expect(await reject("x", profile.id)).toBe("404 FlavorNotFound: Flavor x could not be found.");
    expect(await reject(flavor.id, profile.id, "demo")).toBe(
      "403 PolicyNotAuthorized: rule:create_flavor_service_profile is disallowed by policy",
    );
  });

  test("determine the provider of the flavor's routers", async () => {
    const { id } = await createFlavor();
    const providers = `/flavors/${id}/next_providers`;
    expect(await network.list(providers)).toEqual([]);
    await associate(id, (await createProfile({ driver: DRIVER, metainfo: "x" })).id);
    await associate(id, (await createProfile()).id);
    expect(await network.list(providers)).toEqual([{ driver: DRIVER, metainfo: "x", provider: "single_node" }]);
  });

  test("must be enabled to have a provider", async () => {
    const { id } = await createFlavor();
    await associate(id, (await createProfile({ driver: DRIVER, enabled: false })).id);
    expect(await network.rejection("GET", `/flavors/${id}/next_providers`)).toBe(
      "503 ServiceProfileDisabled: Service Profile is not enabled.",
    );
  });
});
