import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  available,
  type ContractCase,
  claim,
  enrolled,
  get,
  patch,
  post,
  provision,
  put,
  remove,
  until,
} from "./client.js";

const GOLDEN = new URL("../../../fixtures/golden/ironic/available.json", import.meta.url);

/** Returns the names and types in a value. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(shape);
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shape(item)]));
  }
  return value === null ? null : typeof value;
}

const replace = (path: string, value: unknown) => [{ op: "replace", path, value }];

export const NODE_CASES: readonly ContractCase[] = [
  {
    name: "an available node has the fields that were recorded",
    run: async (client) => {
      const node = await available(client, { shard: "s0" });
      await put(client, `${node.path}/traits`, { traits: ["CUSTOM_BM", "HW_CPU_X86_VMX"] });
      const { body } = await get(client, node.path);
      const golden = JSON.parse(await readFile(GOLDEN, "utf8")) as Record<string, unknown>;
      // The hardware type's internal data is implementation-specific.
      const comparableShape = (value: Readonly<Record<string, unknown>>) =>
        shape({ ...value, driver_internal_info: {} });
      expect(comparableShape(body)).toEqual(comparableShape(golden));
    },
  },
  {
    name: "a node is made enrolled, with the uuid and name that were asked for",
    run: async (client) => {
      const node = await enrolled(client, { shard: "s7", extra: { index: 1 } });
      const { body } = await get(client, node.path);
      expect(body).toMatchObject({
        uuid: node.uuid,
        name: node.name,
        provision_state: "enroll",
        power_state: null,
        maintenance: false,
        resource_class: "baremetal",
        shard: "s7",
        extra: { index: 1 },
        conductor_group: "",
        conductor: "localhost",
        reservation: null,
        links: [
          { href: `${client.root}/v1/nodes/${node.uuid}`, rel: "self" },
          { href: `${client.root}/nodes/${node.uuid}`, rel: "bookmark" },
        ],
      });
      expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    },
  },
  {
    name: "names and uuids are given once",
    run: async (client) => {
      const { uuid, name } = await enrolled(client);
      const again = await post(client, "/v1/nodes", { name, driver: "fake-hardware" });
      expect([again.status, again.fault]).toEqual([409, `A node with name ${name} already exists.`]);
      const same = await post(client, "/v1/nodes", { uuid, driver: "fake-hardware" });
      expect([same.status, same.fault]).toEqual([409, `A node with UUID ${uuid} already exists.`]);
    },
  },
  {
    name: "what is no node is refused",
    run: async (client) => {
      const rejectionOf = async (body: unknown) => {
        const { status, fault } = await post(client, "/v1/nodes", body);
        expect(status).toBe(400);
        return fault;
      };
      expect(await rejectionOf({ name: "x" })).toBe("Schema error for node: 'driver' is a required property");
      expect(await rejectionOf({ driver: "fake-hardware", bogus: 1 })).toBe(
        "Schema error for node: Additional properties are not allowed ('bogus' was unexpected)",
      );
      expect(await rejectionOf({ driver: "nope" })).toBe(
        'No valid host was found. Reason: No conductor service registered which supports driver nope for conductor group "".',
      );
      expect(await rejectionOf({ driver: "fake-hardware", name: "a b" })).toBe(
        "Cannot create node with invalid name 'a b'",
      );
      expect(await rejectionOf({ driver: "fake-hardware", uuid: "zzz" })).toBe("Expected UUID for uuid: zzz");
    },
  },
  {
    name: "a node that is not there is 404",
    run: async (client) => {
      const uuid = randomUUID();
      for (const path of ["", "?fields=uuid", "/states", "/validate", "/vifs", "/traits"]) {
        const { status, fault } = await get(client, `/v1/nodes/${uuid}${path}`);
        expect([path, status, fault]).toEqual([path, 404, `Node ${uuid} could not be found.`]);
      }
      expect((await patch(client, `/v1/nodes/${uuid}`, claim(randomUUID()))).status).toBe(404);
      expect((await remove(client, `/v1/nodes/${uuid}`)).status).toBe(404);
    },
  },
  {
    name: "a patch goes into objects, in order, and is undone as a whole when a part of it fails",
    run: async (client) => {
      const { path } = await enrolled(client);
      const made = await patch(client, path, [
        { op: "add", path: "/extra/k", value: { a: [1] } },
        { op: "add", path: "/extra/k/b", value: 2 },
        { op: "remove", path: "/extra/k/a" },
        { op: "add", path: "/instance_info/root_gb", value: "900" },
      ]);
      expect(made.body).toMatchObject({ extra: { k: { b: 2 } }, instance_info: { root_gb: "900" } });
      const failed = await patch(client, path, [
        { op: "add", path: "/extra/a", value: 1 },
        { op: "remove", path: "/extra/zzz" },
      ]);
      expect([failed.status, failed.fault]).toEqual([
        400,
        "Couldn't apply patch '{'op': 'remove', 'path': '/extra/zzz'}'. Reason: can't remove a non-existent object 'zzz'",
      ]);
      expect((await get(client, path)).body.extra).toEqual({ k: { b: 2 } });
      const emptied = await patch(client, path, [
        { op: "add", path: "/instance_info", value: {} },
        { op: "remove", path: "/resource_class" },
      ]);
      expect(emptied.body).toMatchObject({ instance_info: {}, resource_class: null });
    },
  },
  {
    name: "patches that cannot be are refused, and say why",
    run: async (client) => {
      const { path } = await enrolled(client);
      const rejectionOf = async (body: unknown) => {
        const { status, fault } = await patch(client, path, body);
        expect(status).toBe(400);
        return fault;
      };
      expect(await rejectionOf({ op: "move" })).toBe("Schema error for patch: {'op': 'move'} is not of type 'array'");
      expect(await rejectionOf([{ op: "move", path: "/extra" }])).toBe(
        "Schema error for patch: 'move' is not one of ['add', 'replace', 'remove']",
      );
      expect(await rejectionOf([{ op: "add", path: "/bogus", value: 1 }])).toMatch(
        /^Cannot patch \/bogus\. Only the following can be updated: automated_clean, .*, vendor_interface$/,
      );
      expect(await rejectionOf([{ op: "replace", path: "/provision_state", value: "active" }])).toMatch(
        /^Cannot patch/,
      );
      expect(await rejectionOf([{ op: "add", path: "/extra", value: "x" }])).toBe(
        "Schema error for patch: 'x' is not of type 'object', 'null'",
      );
      expect(await rejectionOf([{ op: "remove", path: "/driver" }])).toBe(
        "Schema error for patch: 'driver' is a required property",
      );
      expect(await rejectionOf(claim("x"))).toBe("Expected UUID for instance_uuid: x");
      expect(await rejectionOf([{ op: "replace", path: "/maintenance", value: "perhaps" }])).toBe(
        "Invalid maintenance: Unrecognized value 'perhaps', acceptable values are: " +
          "'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'",
      );
    },
  },
  {
    name: "traits are replaced, added and taken away",
    run: async (client) => {
      const { path, uuid } = await enrolled(client);
      const traits = async () => (await get(client, `${path}/traits`)).body.traits;
      expect((await put(client, `${path}/traits`, { traits: ["HW_CPU_X86_VMX", "CUSTOM_A"] })).status).toBe(204);
      expect(await traits()).toEqual(["CUSTOM_A", "HW_CPU_X86_VMX"]);
      expect((await put(client, `${path}/traits/CUSTOM_B`, undefined)).status).toBe(204);
      expect((await remove(client, `${path}/traits/CUSTOM_A`)).status).toBe(204);
      expect((await get(client, `${path}?fields=traits`)).body.traits).toEqual(["CUSTOM_B", "HW_CPU_X86_VMX"]);
      const absent = await remove(client, `${path}/traits/CUSTOM_Z`);
      expect([absent.status, absent.fault]).toEqual([404, `Node ${uuid} doesn't have a trait 'CUSTOM_Z'`]);
      const wrong = await put(client, `${path}/traits`, { traits: ["bogus"] });
      expect([wrong.status, wrong.fault]).toEqual([
        400,
        "Schema error for body: 'bogus' is not valid under any of the given schemas. Possible root cause: " +
          "'bogus' does not match '^CUSTOM_[A-Z0-9_]+$'",
      ]);
      expect(await traits()).toEqual(["CUSTOM_B", "HW_CPU_X86_VMX"]);
    },
  },
  {
    name: "a node with an instance is deleted in maintenance only; then its name is free",
    run: async (client) => {
      const { path, uuid, name, address } = await enrolled(client);
      const instance = randomUUID();
      await patch(client, path, claim(instance));
      const rejected = await remove(client, path);
      expect([rejected.status, rejected.fault]).toEqual([409, `Node ${uuid} is associated with instance ${instance}.`]);
      expect((await put(client, `${path}/maintenance`, { reason: "gone" })).status).toBe(202);
      expect((await remove(client, path)).status).toBe(204);
      expect((await get(client, path)).status).toBe(404);
      const again = await post(client, "/v1/nodes", { uuid, name, driver: "fake-hardware" });
      expect(again.status).toBe(201);
      expect(again.body).toMatchObject({ provision_state: "enroll", instance_uuid: null, maintenance: false });
      expect((await get(client, `/v1/ports?node=${uuid}`)).body).toEqual({ ports: [] });
      const port = await post(client, "/v1/ports", { node_uuid: uuid, address });
      expect(port.status, port.fault).toBe(201);
    },
  },
  {
    name: "ports are listed by node; port groups and volume targets are none",
    run: async (client) => {
      const { uuid, name } = await enrolled(client);
      const { ports } = (await get(client, `/v1/ports?node=${name}&detail=True`)).body;
      expect(ports).toMatchObject([{ node_uuid: uuid, pxe_enabled: true, internal_info: {}, portgroup_uuid: null }]);
      const [port] = ports as { readonly address: string }[];
      const again = await post(client, "/v1/ports", { node_uuid: uuid, address: port?.address });
      expect([again.status, again.fault]).toEqual([409, `A port with MAC address ${port?.address} already exists.`]);
      const groups = await get(client, `/v1/portgroups?node=${uuid}&detail=True`);
      expect([groups.status, groups.body]).toEqual([200, { portgroups: [] }]);
      const old = await get(client, `/v1/portgroups?node=${uuid}&detail=True`, "1.42");
      expect([old.status, old.fault]).toEqual([400, "Invalid query parameter ?detail=True received."]);
      const targets = await get(client, `/v1/volume/targets?node=${uuid}&detail=True`, "1.32");
      expect([targets.status, targets.body]).toEqual([200, { targets: [] }]);
      expect((await get(client, "/v1/volume/targets", "1.31")).status).toBe(404);
    },
  },
  {
    name: "an available node is not retired, and a reason goes with its mark",
    run: async (client) => {
      const node = await enrolled(client);
      const marks = async (body: unknown) => {
        const reply = await patch(client, node.path, body);
        return reply.status === 200 ? [reply.body.retired, reply.body.retired_reason] : [reply.status, reply.fault];
      };
      const alone = [400, "The retired_reason field can only be set when retired is True"];
      expect(await marks(replace("/retired_reason", "old"))).toEqual(alone);
      expect(await marks([...replace("/retired", true), ...replace("/retired_reason", "old")])).toEqual([true, "old"]);
      expect(await marks(replace("/retired", false))).toEqual([false, null]);
      const ready = await available(client);
      const retired = await patch(client, ready.path, replace("/retired", true));
      expect([retired.status, retired.fault]).toEqual([
        409,
        `Node ${ready.uuid} can not have 'retired' set in provision state 'available', the current state is 'available'`,
      ]);
      const guarded = await patch(client, ready.path, replace("/protected", true));
      expect([guarded.status, guarded.fault]).toEqual([
        409,
        `Node ${ready.uuid} can only be made protected in provision states 'active' or 'rescue', the current state is 'available'`,
      ]);
    },
  },
  {
    name: "a retired node ends manageable when it was cleaned",
    run: async (client) => {
      const node = await available(client);
      expect((await patch(client, node.path, claim(randomUUID()))).status).toBe(200);
      await provision(client, node, { target: "active" });
      await until(client, node, { provision_state: "active", reservation: null });
      expect((await patch(client, node.path, replace("/retired", true))).status).toBe(200);
      await provision(client, node, { target: "deleted" });
      await until(client, node, { provision_state: "manageable", target_provision_state: null, reservation: null });
    },
  },
];
