import { expect } from "vitest";
import { type ContractCase, get } from "./client.js";

type Members = Readonly<Record<string, unknown>>;

export const DRIVER_CASES: readonly ContractCase[] = [
  {
    name: "the hardware type has its interfaces, by version",
    run: async (client) => {
      const path = "/v1/drivers/fake-hardware";
      const { body } = await get(client, path);
      expect(body).toMatchObject({
        name: "fake-hardware",
        type: "dynamic",
        default_deploy_interface: "fake",
        enabled_bios_interfaces: ["fake"],
        default_vendor_interface: "no-vendor",
      });
      const names = async (version: string) => Object.keys((await get(client, path, version)).body);
      expect(await names("1.1")).toEqual(["name", "hosts", "links"]);
      expect(await names("1.29")).toEqual(["name", "hosts", "links", "properties"]);
      expect(await names("1.30")).not.toContain("default_storage_interface");
      expect(await names("1.39")).not.toContain("default_bios_interface");
      const some = await get(client, `${path}?fields=name,default_deploy_interface`);
      expect(Object.keys(some.body).sort()).toEqual(["default_deploy_interface", "links", "name"]);
      const [listed] = (await get(client, "/v1/drivers")).body.drivers as readonly Members[];
      expect(Object.keys(listed ?? {}).sort()).toEqual(["hosts", "links", "name", "properties", "type"]);
      const [detailed] = (await get(client, "/v1/drivers?detail=True")).body.drivers as readonly Members[];
      expect(detailed).toMatchObject({ default_power_interface: "fake" });
      expect((await get(client, `${path}/properties`)).body).toEqual({});
    },
  },
  {
    name: "what drivers do not have is an error",
    run: async (client) => {
      const cases: readonly (readonly [string, number, string, string?])[] = [
        ["/ipmi", 404, "Could not find the following driver(s) or hardware type(s): ipmi."],
        ["/ipmi/properties", 404, "The driver 'ipmi' is unknown."],
        ["?type=foo", 400, '"type" filter must be one of "classic" or "dynamic", if specified.'],
        ["?fields=foo", 400, 'Field(s) "foo" are not valid'],
        ["?fields=name&detail=True", 400, "Can not specify ?detail=True and fields in the same request."],
        ["?foo=1", 400, "Unexpected arguments: foo"],
        ["?fields=name", 406, "Request not acceptable.", "1.76"],
        ["?detail=True", 406, "Request not acceptable. The minimal required API version should be 1.30", "1.29"],
      ];
      for (const [path, status, text, version] of cases) {
        const reply = await get(client, `/v1/drivers${path}`, version);
        expect([path, reply.status, reply.fault]).toEqual([path, status, text]);
      }
      expect((await get(client, "/v1/drivers?type=classic")).body.drivers).toEqual([]);
    },
  },
];
