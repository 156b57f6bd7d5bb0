import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import {
  available,
  type ContractCase,
  claim,
  enrolled,
  get,
  type IronicClient,
  patch,
  post,
  remove,
  type TestNode,
} from "./client.js";

type Members = Readonly<Record<string, unknown>>;

let made = 0;

/** Returns an address that no other case uses. */
function freshAddress(): string {
  made += 1;
  const digits = randomUUID().slice(0, 6);
  return `52:55:${(made % 256).toString(16).padStart(2, "0")}:${digits.replace(/..(?!$)/g, "$&:")}`;
}

async function portOf(client: IronicClient, node: TestNode): Promise<string> {
  const { body } = await get(client, `${node.path}/ports`);
  return (body.ports as { readonly uuid: string }[])[0]?.uuid ?? "";
}

function add(client: IronicClient, node: TestNode, members: Members = {}, version?: string) {
  return post(client, "/v1/ports", { node_uuid: node.uuid, address: freshAddress(), ...members }, version);
}

const replace = (path: string, value: unknown) => [{ op: "replace", path, value }];

const ports = (reply: { readonly body: Members }) => reply.body.ports as readonly Members[];

export const PORT_CASES: readonly ContractCase[] = [
  {
    name: "a port keeps all attributes that it is given",
    run: async (client) => {
      const node = await enrolled(client);
      const attributes = {
        address: freshAddress().toUpperCase(),
        extra: { rack: 7 },
        local_link_connection: { port_id: "p1", switch_id: "AA:BB:CC:DD:EE:FF", switch_info: "s" },
        pxe_enabled: "no",
        physical_network: "physnet7",
        is_smartnic: false,
      };
      const reply = await add(client, node, attributes);
      expect(reply.status, reply.fault).toBe(201);
      expect(reply.headers.location).toBe(`${client.root}/v1/ports/${reply.body.uuid}`);
      expect(reply.body).toEqual({
        uuid: expect.any(String),
        created_at: expect.any(String),
        updated_at: null,
        address: attributes.address.toLowerCase(),
        extra: { rack: 7 },
        internal_info: {},
        is_smartnic: false,
        local_link_connection: { port_id: "p1", switch_id: "aa:bb:cc:dd:ee:ff", switch_info: "s" },
        physical_network: "physnet7",
        pxe_enabled: false,
        node_uuid: node.uuid,
        portgroup_uuid: null,
        links: [
          { href: `${client.root}/v1/ports/${reply.body.uuid}`, rel: "self" },
          { href: `${client.root}/ports/${reply.body.uuid}`, rel: "bookmark" },
        ],
      });
      expect((await get(client, `/v1/ports/${reply.body.uuid}`)).body).toEqual(reply.body);
    },
  },
  {
    name: "a port shows the attributes of the version that is asked for",
    run: async (client) => {
      const path = `/v1/ports/${await portOf(client, await enrolled(client))}`;
      const names = async (version: string) => Object.keys((await get(client, path, version)).body).sort();
      const first = ["address", "created_at", "extra", "links", "node_uuid", "updated_at", "uuid"];
      expect(await names("1.1")).toEqual(first);
      expect(await names("1.18")).toEqual([...first, "internal_info"].sort());
      expect(await names("1.19")).toEqual([...first, "internal_info", "local_link_connection", "pxe_enabled"].sort());
      const more = ["internal_info", "local_link_connection", "pxe_enabled", "portgroup_uuid", "physical_network"];
      expect(await names("1.52")).toEqual([...first, ...more].sort());
    },
  },
  {
    name: "a port's body is checked",
    run: async (client) => {
      const node = await enrolled(client);
      const link = (value: unknown) => ({ local_link_connection: value });
      const schemas = "is not valid under any of the given schemas. Possible root cause:";
      const cases: readonly (readonly [Members, number, string])[] = [
        [
          { foo: 1, bar: 2 },
          400,
          "Schema error for port: Additional properties are not allowed ('bar', 'foo' were unexpected)",
        ],
        [{ extra: 1 }, 400, "Schema error for port: 1 is not of type 'object', 'null'"],
        [{ address: 1 }, 400, "Schema error for port: 1 is not of type 'string'"],
        [{ address: "foo" }, 400, "Expected valid MAC address for address: foo"],
        [{ node_uuid: "foo" }, 400, "Expected UUID for node_uuid: foo"],
        [{ uuid: "foo" }, 400, "Expected UUID for uuid: foo"],
        [{ pxe_enabled: 1 }, 400, "Schema error for port: 1 is not of type 'string', 'boolean', 'null'"],
        [{ physical_network: "" }, 400, "A non-empty value is required when setting physical_network"],
        [{ physical_network: "x".repeat(65) }, 400, `Schema error for port: '${"x".repeat(65)}' is too long`],
        [{ address: node.address }, 409, `A port with MAC address ${node.address} already exists.`],
        [link({ port_id: "x" }), 400, `{'port_id': 'x'} ${schemas} 'switch_id' is a required property`],
        [link({ foo: 1 }), 400, `{'foo': 1} ${schemas} Additional properties are not allowed ('foo' was unexpected)`],
        [link({ port_id: 1, switch_id: "x" }), 400, `${schemas} 'hostname' is a required property`],
        [
          link({ network_type: "managed" }),
          400,
          "Schema error for local_link_connection: 'managed' is not one of ['unmanaged']",
        ],
        [link({ network_type: "x" }), 400, `{'network_type': 'x'} ${schemas} 'port_id' is a required property`],
        [link({ port_id: "x", switch_id: "y" }), 400, "Expected a MAC address or OpenFlow datapath ID but received y."],
        [
          { is_smartnic: true, ...link({ port_id: "x", switch_id: "AA:BB:CC:DD:EE:FF" }) },
          400,
          "Smart NIC port must have port_id and hostname in local_link_connection",
        ],
      ];
      for (const [members, status, text] of cases) {
        const reply = await add(client, node, members);
        expect([reply.status, reply.fault]).toEqual([status, expect.stringContaining(text)]);
      }
      for (const [members, version] of [
        [{ pxe_enabled: true }, "1.18"],
        [{ physical_network: "x" }, "1.33"],
        [{ is_smartnic: true }, "1.52"],
        [link({ network_type: "unmanaged" }), "1.63"],
      ] as const) {
        expect((await add(client, node, members, version)).status).toBe(406);
      }
      expect((await add(client, node, { node_uuid: randomUUID() })).status).toBe(400);
      const unknown = randomUUID();
      const grouped = await add(client, node, { portgroup_uuid: unknown });
      expect([grouped.status, grouped.fault]).toEqual([400, `Portgroup ${unknown} could not be found.`]);
      for (const accepted of [
        { is_smartnic: "true", ...link({ port_id: "x", hostname: "h" }) },
        link({ port_id: "x", switch_id: "0011223344556677" }),
        { extra: null, local_link_connection: null, physical_network: null, is_smartnic: null, uuid: null },
      ]) {
        expect((await add(client, node, accepted)).status).toBe(201);
      }
    },
  },
  {
    name: "ports are found by address, by node, and below their node",
    run: async (client) => {
      const [node, other] = [await enrolled(client), await enrolled(client)];
      const one = [{ uuid: expect.any(String), address: node.address, links: expect.any(Array) }];
      for (const query of [
        `address=${node.address.toUpperCase()}`,
        `node=${node.name}`,
        `node=${node.uuid}`,
        `node_uuid=${node.uuid}`,
        // The node takes precedence over the address.
        `address=${other.address}&node=${node.uuid}`,
      ]) {
        expect(ports(await get(client, `/v1/ports?${query}`))).toEqual(one);
      }
      expect(ports(await get(client, `${node.path}/ports`))).toEqual(one);
      expect(ports(await get(client, `${node.path}/ports/detail`))[0]).toMatchObject({
        extra: {},
        node_uuid: node.uuid,
      });
      expect(ports(await get(client, "/v1/ports?address=52:54:00:ff:ff:fe"))).toEqual([]);
    },
  },
  {
    name: "a list of ports has fields, pages and an order",
    run: async (client) => {
      const node = await enrolled(client);
      await add(client, node);
      await add(client, node);
      const query = `/v1/ports?node=${node.uuid}`;
      const all = ports(await get(client, `${query}&sort_key=address&sort_dir=desc`)).map(({ address }) => address);
      expect(all).toEqual([...all].sort().reverse());
      expect(all).toHaveLength(3);
      const first = await get(client, `${query}&limit=2&fields=uuid,extra`);
      expect(ports(first).map((port) => Object.keys(port).sort())).toEqual(Array(2).fill(["extra", "links", "uuid"]));
      const last = ports(first).at(-1)?.uuid;
      expect(first.body.next).toBe(
        `${client.root}/v1/ports?sort_key=id&sort_dir=asc&fields=uuid,extra&limit=2&marker=${last}`,
      );
      const rest = await get(client, `${query}&limit=2&marker=${last}`);
      expect([ports(rest).length, rest.body.next]).toEqual([1, undefined]);
      expect(ports(await get(client, `${query}&detail=True`))[0]).toMatchObject({ pxe_enabled: true });
    },
  },
  {
    name: "what a list of ports cannot do is an error",
    run: async (client) => {
      const { uuid } = await enrolled(client);
      const cases: readonly (readonly [string, number, string, string?])[] = [
        ["address=foo", 400, "Expected valid MAC address for address: foo"],
        ["node=a%20b", 400, "Expected UUID or name for node: a b"],
        ["node=unknown-name", 404, "Node unknown-name could not be found."],
        ["node_uuid=foo", 400, "Expected UUID for node_uuid: foo"],
        ["foo=1", 400, "Unexpected arguments: foo"],
        ["fields=address,foo", 400, 'Field(s) "foo" are not valid'],
        ["detail=True&fields=uuid", 400, "Can not specify ?detail=True and fields in the same request."],
        ["limit=0", 400, "Limit must be positive"],
        ["sort_key=extra", 400, "The sort_key value extra is an invalid field for sorting"],
        ["sort_key=foo", 400, 'The sort_key value "foo" is an invalid field for sorting'],
        ["sort_dir=up", 400, "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'"],
        ["portgroup=foo", 404, "Portgroup foo could not be found."],
        [`portgroup=foo&node=${uuid}`, 403, "Operation not permitted."],
        ["detail=True", 400, "Invalid query parameter ?detail=True received.", "1.42"],
        ["fields=uuid", 406, "Request not acceptable.", "1.7"],
        ["sort_key=pxe_enabled", 406, "Request not acceptable.", "1.18"],
        ["node=unknown-name", 406, "Request not acceptable.", "1.4"],
        ["shard=s1", 406, "Request not acceptable. The minimal required API version should be 1.82", "1.81"],
      ];
      for (const [query, status, text, version] of cases) {
        const reply = await get(client, `/v1/ports?${query}`, version);
        expect([query, reply.status, reply.fault]).toEqual([query, status, text]);
      }
      const unknown = randomUUID();
      const marker = await get(client, `/v1/ports?marker=${unknown}`);
      expect([marker.status, marker.fault]).toEqual([404, `Port ${unknown} could not be found.`]);
    },
  },
  {
    name: "a port is changed by a JSON patch",
    run: async (client) => {
      const node = await enrolled(client);
      const path = `/v1/ports/${await portOf(client, node)}`;
      const address = freshAddress();
      const steps: readonly (readonly [unknown, Members])[] = [
        [[{ op: "add", path: "/extra/foo", value: 1 }], { extra: { foo: 1 } }],
        [[{ op: "remove", path: "/extra/foo" }], { extra: {} }],
        [[{ op: "remove", path: "/extra" }], { extra: {} }],
        [replace("/address", address.toUpperCase()), { address }],
        [replace("/pxe_enabled", "no"), { pxe_enabled: false }],
        [replace("/physical_network", "p2"), { physical_network: "p2" }],
        [
          replace("/local_link_connection", { port_id: "q", switch_id: "AA:BB:CC:DD:EE:01" }),
          { local_link_connection: { port_id: "q", switch_id: "aa:bb:cc:dd:ee:01" } },
        ],
        [[{ op: "remove", path: "/local_link_connection" }], { local_link_connection: {} }],
        [replace("/is_smartnic", true), { is_smartnic: true }],
        [[{ op: "remove", path: "/is_smartnic" }], { is_smartnic: null }],
      ];
      for (const [body, expected] of steps) {
        const reply = await patch(client, path, body);
        expect(reply.status, reply.fault).toBe(200);
        expect(reply.body).toMatchObject({ ...expected, updated_at: expect.any(String) });
      }
      expect(ports(await get(client, `/v1/ports?address=${address}`))).toHaveLength(1);
      expect(ports(await get(client, `/v1/ports?address=${node.address}`))).toEqual([]);
    },
  },
  {
    name: "a patch of a port is checked",
    run: async (client) => {
      const [node, other] = [await enrolled(client), await enrolled(client)];
      const port = await portOf(client, node);
      const fields =
        "address, extra, is_smartnic, local_link_connection, node_uuid, physical_network, portgroup_uuid, pxe_enabled";
      const cases: readonly (readonly [unknown, number, string, string?])[] = [
        [{}, 400, "Schema error for patch: {} is not of type 'array'"],
        [replace("/uuid", randomUUID()), 400, `Cannot patch /uuid. Only the following can be updated: ${fields}`],
        [replace("/address", "foo"), 400, "Expected valid MAC address for address: foo"],
        [replace("/address", other.address), 409, `A port with MAC address ${other.address} already exists.`],
        [[{ op: "remove", path: "/address" }], 400, "Schema error for patch: 'address' is a required property"],
        [replace("/physical_network", ""), 400, "A non-empty value is required when setting physical_network"],
        [replace("/node_uuid", "foo"), 400, "Expected a UUID or int but received foo."],
        [replace("/pxe_enabled", "no"), 406, "Request not acceptable.", "1.18"],
        [replace("/physical_network", "x"), 406, "Request not acceptable.", "1.33"],
        [
          [{ op: "remove", path: "/extra/foo" }],
          400,
          "Couldn't apply patch '{'op': 'remove', 'path': '/extra/foo'}'. Reason: can't remove a non-existent object 'foo'",
        ],
        [
          [{ op: "add", path: "/local_link_connection/port_id", value: "q" }],
          400,
          "Schema error for local_link_connection: {'port_id': 'q'} is not valid under any of the given schemas. Possible root cause: 'switch_id' is a required property",
        ],
      ];
      for (const [body, status, text, version] of cases) {
        const reply = await patch(client, `/v1/ports/${port}`, body, version);
        expect([reply.status, reply.fault]).toEqual([status, text]);
      }
      const unknown = randomUUID();
      const reply = await patch(client, `/v1/ports/${unknown}`, [{ op: "remove", path: "/extra" }]);
      expect([reply.status, reply.fault]).toEqual([404, `Port ${unknown} could not be found.`]);
    },
  },
  {
    name: "a port of an available or claimed node keeps its connection and address",
    run: async (client) => {
      const node = await available(client);
      const path = `/v1/ports/${await portOf(client, node)}`;
      const connection = await patch(client, path, replace("/pxe_enabled", false));
      expect([connection.status, connection.fault]).toEqual([
        409,
        expect.stringMatching(
          /^Port .* can not have any connectivity attributes \(.*\) updated unless node .* is in a enroll, inspecting, inspect wait, manageable state or in maintenance mode. The current state is available.$/,
        ),
      ]);
      expect((await patch(client, path, [{ op: "add", path: "/extra/a", value: 1 }])).status).toBe(200);
      expect((await patch(client, node.path, claim(randomUUID()))).status).toBe(200);
      const address = await patch(client, path, replace("/address", freshAddress()));
      expect([address.status, address.fault]).toEqual([
        409,
        expect.stringContaining("is active or has instance UUID assigned"),
      ]);
    },
  },
  {
    name: "a port is deleted",
    run: async (client) => {
      const node = await enrolled(client);
      const port = await portOf(client, node);
      expect((await remove(client, `/v1/ports/${port}`)).status).toBe(204);
      for (const again of [await remove(client, `/v1/ports/${port}`), await get(client, `/v1/ports/${port}`)]) {
        expect([again.status, again.fault]).toEqual([404, `Port ${port} could not be found.`]);
      }
      expect(ports(await get(client, `${node.path}/ports`))).toEqual([]);
      const wrong = await remove(client, "/v1/ports/foo");
      expect([wrong.status, wrong.fault]).toEqual([400, "Expected UUID for port_uuid: foo"]);
      expect((await remove(client, "/v1/ports")).fault).toBe("Missing mandatory parameter: port_uuid");
    },
  },
  {
    name: "one port has no path below its node",
    run: async (client) => {
      const node = await enrolled(client);
      const reply = await get(client, `${node.path}/ports/${await portOf(client, node)}`);
      expect([reply.status, reply.fault]).toEqual([403, "Operation not permitted."]);
    },
  },
];
