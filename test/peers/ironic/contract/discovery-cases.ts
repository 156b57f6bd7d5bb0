import { expect } from "vitest";
import { type ContractCase, enrolled, get, patch, post } from "./client.js";

const RANGE = "The supported version range is: [1.1, 1.82].";
const MINIMUM = "x-openstack-ironic-api-minimum-version";
const MAXIMUM = "x-openstack-ironic-api-maximum-version";
const VERSION = "x-openstack-ironic-api-version";

export const DISCOVERY_CASES: readonly ContractCase[] = [
  {
    name: "the root tells the range of versions, without any",
    run: async (client) => {
      const { status, body } = await get(client, "/", null);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        name: "OpenStack Ironic API",
        default_version: { id: "v1", min_version: "1.1", version: "1.82", status: "CURRENT" },
        versions: [{ id: "v1", links: [{ href: `${client.root}/v1/`, rel: "self" }] }],
      });
    },
  },
  {
    name: "v1 tells its collections, and the versions in headers",
    run: async (client) => {
      for (const path of ["/v1", "/v1/"]) {
        const { status, headers, body } = await get(client, path, null);
        expect(status).toBe(200);
        expect(headers).toMatchObject({ [MINIMUM]: "1.1", [MAXIMUM]: "1.82", [VERSION]: "1.1" });
        expect(body).toMatchObject({ id: "v1", nodes: [{ href: `${client.root}/v1/nodes/` }, { rel: "bookmark" }] });
        expect(body.volume).toBeUndefined();
      }
      const latest = await get(client, "/v1", "latest");
      expect(latest.headers[VERSION]).toBe("1.82");
      expect(latest.body.volume).toBeDefined();
    },
  },
  {
    name: "a version out of range is 406, with the range in the text and in headers",
    run: async (client) => {
      const { status, headers, fault } = await get(client, "/v1/nodes", "1.200");
      expect([status, fault]).toEqual([
        406,
        `Version 1.200 was requested but the minor version is not supported by this service. ${RANGE}`,
      ]);
      expect(headers).toMatchObject({ [MINIMUM]: "1.1", [MAXIMUM]: "1.82" });
    },
  },
  {
    name: "another major version, and what is no version, are 406",
    run: async (client) => {
      const major = await get(client, "/v1/nodes", "2.1");
      expect([major.status, major.fault]).toEqual([
        406,
        `Mutually exclusive versions requested. Version 2.1 requested but not supported by this service. ${RANGE}`,
      ]);
      const malformed = await get(client, "/v1/nodes", "abc");
      expect([malformed.status, malformed.fault]).toEqual([
        406,
        "Invalid value for X-OpenStack-Ironic-API-Version header",
      ]);
    },
  },
  {
    name: "unknown paths are 404, with and without v1",
    run: async (client) => {
      expect((await get(client, "/v1/nothing")).status).toBe(404);
      expect((await get(client, "/nothing")).status).toBe(404);
      expect((await get(client, "/nodes?limit=1&fields=uuid")).status).toBe(200);
    },
  },
  {
    name: "without a version a node is one of 1.1, whose available state has no name",
    run: async (client) => {
      const { status, body } = await post(client, "/v1/nodes", { driver: "fake-hardware" }, null);
      expect(status).toBe(201);
      expect(Object.keys(body).sort()).toEqual(FIELDS_OF_1_1);
      expect(body.provision_state).toBeNull();
      const same = await get(client, `/v1/nodes/${body.uuid}?fields=provision_state`, "1.8");
      expect(same.body.provision_state).toBe("available");
    },
  },
  {
    name: "fields are hidden below their version, and 406 when they are asked for",
    run: async (client) => {
      const node = await enrolled(client);
      for (const [field, minor] of Object.entries(FIRST_MINORS)) {
        const [before, since] = [`1.${minor - 1}`, `1.${minor}`];
        expect((await get(client, node.path, before)).body, field).not.toHaveProperty(field);
        expect((await get(client, node.path, since)).body, field).toHaveProperty(field);
        if (minor <= 8) {
          continue;
        }
        const rejected = await get(client, `${node.path}?fields=uuid,${field}`, before);
        expect([field, rejected.status, rejected.fault]).toEqual([field, 406, "Request not acceptable."]);
      }
      expect((await get(client, `${node.path}?fields=uuid`, "1.7")).status).toBe(406);
    },
  },
  {
    name: "fields cannot be written below their version",
    run: async (client) => {
      const node = await enrolled(client);
      const change = [{ op: "add", path: "/shard", value: "s1" }];
      const rejected = await patch(client, node.path, change, "1.81");
      expect([rejected.status, rejected.fault]).toEqual([406, "Request not acceptable."]);
      expect((await patch(client, node.path, change)).body.shard).toBe("s1");
      const created = await post(client, "/v1/nodes", { driver: "fake-hardware", shard: "a" }, "1.81");
      expect([created.status, created.fault]).toEqual([406, "Request not acceptable."]);
    },
  },
  {
    name: "names of nodes are known since 1.5",
    run: async (client) => {
      const node = await enrolled(client);
      expect((await get(client, `/v1/nodes/${node.name}`, "1.5")).body.uuid).toBe(node.uuid);
      const rejected = await get(client, `/v1/nodes/${node.name}`, "1.4");
      expect([rejected.status, rejected.fault]).toEqual([404, `Node ${node.name} could not be found.`]);
    },
  },
];

const FIRST_MINORS = {
  name: 5,
  network_interface: 20,
  resource_class: 21,
  deploy_interface: 31,
  storage_interface: 33,
  traits: 37,
  rescue_interface: 38,
  fault: 42,
  conductor_group: 46,
  conductor: 49,
  owner: 50,
  allocation_uuid: 52,
  retired: 61,
  lessee: 65,
  boot_mode: 75,
  shard: 82,
};

const FIELDS_OF_1_1 = [
  "chassis_uuid",
  "console_enabled",
  "created_at",
  "driver",
  "driver_info",
  "extra",
  "instance_info",
  "instance_uuid",
  "last_error",
  "links",
  "maintenance",
  "maintenance_reason",
  "ports",
  "power_state",
  "properties",
  "provision_state",
  "provision_updated_at",
  "reservation",
  "target_power_state",
  "target_provision_state",
  "updated_at",
  "uuid",
];
