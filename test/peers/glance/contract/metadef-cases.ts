import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type ContractCase, expectFault, expectStatus } from "./client.js";

const ALL = "/v2/metadefs/namespaces";

export const METADEF_CASES: readonly ContractCase[] = [
  {
    name: "a namespace comes with what is in it, and goes with it",
    run: async (client) => {
      const namespace = randomUUID();
      const one = `${ALL}/${namespace}`;
      const body = {
        namespace,
        visibility: "public",
        properties: { p: { title: "P", type: "string" } },
        objects: [{ name: "o", properties: { x: { title: "X", type: "integer" } } }],
        tags: [{ name: "t" }],
        resource_type_associations: [{ name: "OS::Nova::Server" }],
      };
      await expectFault(client, 403, "add_metadef_namespace", ["demo", "POST", ALL], { body });
      expect(await expectStatus(client, 201, ["admin", "POST", ALL], { body })).toMatchObject(body);
      await expectFault(client, 409, "already exists", ["admin", "POST", ALL], { body });
      const fetched = await expectStatus(client, 200, ["demo", "GET", one]);
      expect(fetched).toMatchObject({ ...body, protected: false, owner: client.projects.admin, self: one });
      const objects = await expectStatus(client, 200, ["demo", "GET", `${one}/objects`]);
      expect(objects).toMatchObject({ objects: [{ name: "o", required: [] }], schema: "v2/schemas/metadefs/objects" });
      const properties = await expectStatus(client, 200, ["demo", "GET", `${one}/properties`]);
      expect(properties).toEqual({ properties: { p: { title: "P", type: "string" } } });
      const change = { namespace, display_name: "M", protected: true };
      expect(await expectStatus(client, 200, ["admin", "PUT", one], { body: change })).toMatchObject({
        ...{ display_name: "M", protected: true, visibility: "private" },
      });
      await expectFault(client, 403, `${namespace} is protected and cannot be deleted.`, ["admin", "DELETE", one]);
      await expectFault(client, 403, "tag t is protected and cannot be deleted.", ["admin", "DELETE", `${one}/tags/t`]);
      await expectStatus(client, 404, ["demo", "GET", one]);
      await expectStatus(client, 200, ["admin", "PUT", one], { body: { namespace } });
      await expectStatus(client, 204, ["admin", "DELETE", one]);
      await expectFault(client, 404, `namespace=${namespace} was not found.`, ["admin", "GET", one]);
    },
  },
  {
    name: "definitions are made, changed and deleted one by one",
    run: async (client) => {
      const namespace = randomUUID();
      const one = `${ALL}/${namespace}`;
      await expectStatus(client, 201, ["admin", "POST", ALL], { body: { namespace } });
      const tags = { body: { tags: [{ name: "a" }, { name: "b" }] } };
      expect(await expectStatus(client, 201, ["admin", "POST", `${one}/tags`], tags)).toEqual(tags.body);
      await expectStatus(client, 201, ["admin", "POST", `${one}/tags/c`]);
      await expectFault(client, 409, "A metadata tag with name=c already exists", ["admin", "POST", `${one}/tags/c`]);
      await expectStatus(client, 200, ["admin", "PUT", `${one}/tags/c`], { body: { name: "d" } });
      await expectFault(client, 404, "Could not find metadata tag c", ["admin", "GET", `${one}/tags/c`]);
      await expectStatus(client, 204, ["admin", "DELETE", `${one}/tags`]);
      expect(await expectStatus(client, 200, ["admin", "GET", `${one}/tags`])).toEqual({ tags: [] });
      const object = { body: { name: "o", required: ["a"] } };
      await expectStatus(client, 201, ["admin", "POST", `${one}/objects`], object);
      await expectFault(
        client,
        409,
        "definition object with name=o already",
        ["admin", "POST", `${one}/objects`],
        object,
      );
      await expectFault(client, 404, "Could not find metadata object z", ["admin", "DELETE", `${one}/objects/z`]);
      const property = { body: { name: "p", title: "x", type: "strin" } };
      await expectFault(client, 400, "'strin' is not one of", ["admin", "POST", `${one}/properties`], property);
      await expectFault(client, 404, "Could not find property p", ["admin", "GET", `${one}/properties/p`]);
      const type = { body: { name: `OS::X::${namespace.slice(0, 8)}`, prefix: "x:" } };
      await expectStatus(client, 201, ["admin", "POST", `${one}/resource_types`], type);
      await expectFault(client, 409, "already exists.", ["admin", "POST", `${one}/resource_types`], type);
      await expectStatus(client, 204, ["admin", "DELETE", `${one}/resource_types/${type.body.name}`]);
      await expectStatus(client, 204, ["admin", "DELETE", one]);
    },
  },
];
