import { afterEach, beforeEach, expect, test } from "vitest";
import { openClusterNetwork } from "../../../../src/control-plane/cluster-network.js";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { applySchema } from "../../../../src/control-plane/database/schema-steps.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import type { ComputeNetwork } from "../../../../src/control-plane/network/compute-network.js";
import { STORE_SCHEMA } from "../../../../src/control-plane/store/schema/store-schema.js";
import { storeOn } from "../../../../src/control-plane/store/store.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { validateCaller } from "../../../fixtures/callers.js";
import { anInstance, nodeResources } from "../../../fixtures/records.js";
import { NETWORK_ID, SUBNET_ID } from "../../../fixtures/test-network.js";

const FLAT_VERSION = 18;
const SERVER = "00000000-0000-4000-8000-000000000001";
const [GROUP, RULE, SERVER_PORT, USER_PORT] = [2, 3, 4, 5].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [
  string,
  string,
  string,
  string,
];

let sql: Sql;

beforeEach(() => {
  sql = new Sql(new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]));
  applySchema(
    sql,
    "conductor",
    STORE_SCHEMA.filter(({ version }) => version <= FLAT_VERSION),
    0,
  );
});
afterEach(() => sql.file.close());

/** Opens the state file with this program; its configured start networks are devstack's. */
function open(): ComputeNetwork {
  applySchema(sql, "conductor", STORE_SCHEMA, 0);
  const runtime = new VirtualWorld().spawn();
  const store = storeOn(sql, { runtime }, () => {});
  return openClusterNetwork({ store, runtime, validate: validateCaller, start: { start: "devstack", projects: {} } });
}

function addServer(): void {
  const { services, computeNodes, instances } = storeOn(sql, { runtime: new VirtualWorld().spawn() }, () => {});
  const host = "devstack1";
  const service = services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
  const node = { host, serviceId: service.id, hypervisorHostname: host, resources: nodeResources() };
  const { id: computeId } = computeNodes.create({ ...node, uuid: "00000000-0000-4000-8000-000000000009" });
  const { id: _id, ...columns } = anInstance({ uuid: SERVER, host, node: host, computeId });
  instances.create(columns);
}

function addFlatRecords(): void {
  sql.run("INSERT INTO security_groups VALUES (1, ?, 'demo', 'default', 'd', 1, 3, 1000, 2000)", GROUP);
  sql.run(
    "INSERT INTO security_group_rules VALUES (1, ?, ?, 'demo', 'ingress', 'IPv4', 'tcp', 22, 22, NULL, ?, '', 1000)",
    RULE,
    GROUP,
    GROUP,
  );
  const groups = JSON.stringify([GROUP]);
  sql.run(
    `INSERT INTO ports VALUES (1, ?, 'demo', '', '', 167772167, 'fa:16:3e:00:00:07', ?, 'compute:nova', 1, ?,
      '["devstack1"]', 1, 'nic', 4, 1000, 2000)`,
    SERVER_PORT,
    SERVER,
    groups,
  );
  sql.run(
    "INSERT INTO ports VALUES (2, ?, 'demo', 'mine', '', 167772168, 'fa:16:3e:00:00:08', '', '', 1, ?, '[]', 0, NULL, 1, 1000, 2000)",
    USER_PORT,
    groups,
  );
  sql.run("INSERT INTO network_tags VALUES (?, 'blue')", USER_PORT);
}

async function list(network: ComputeNetwork, path: string) {
  const { body } = await network.handle({
    method: "GET",
    path: `/v2.0/${path}`,
    query: "",
    headers: { "x-auth-token": "admin" },
    body: "",
    baseUrl: "http://127.0.0.1/network",
  });
  return Object.values(JSON.parse(body) as Record<string, Record<string, unknown>[]>)[0] ?? [];
}

test("ports and security groups of an older state file keep ids, addresses and bindings on the flat network", async () => {
  addServer();
  addFlatRecords();
  const network = open();
  expect((await list(network, "networks")).map(({ id, name }) => [id, name])).toEqual([[NETWORK_ID, "private"]]);
  expect(network.ports.ofServer(SERVER)).toMatchObject([
    {
      id: SERVER_PORT,
      macAddress: "fa:16:3e:00:00:07",
      fixedIps: [{ subnetId: SUBNET_ID, address: "10.0.0.7", version: 4 }],
      securityGroupIds: [GROUP],
      tag: "nic",
      madeForServer: true,
      status: "ACTIVE",
      host: "devstack1",
      pluggedOn: ["devstack1"],
      vifType: "ovs",
    },
  ]);
  expect(await list(network, "ports")).toMatchObject([
    { id: SERVER_PORT, revision_number: 4 },
    {
      id: USER_PORT,
      name: "mine",
      tags: ["blue"],
      "binding:host_id": "",
      "binding:vif_type": "unbound",
      status: "DOWN",
    },
  ]);
  // The list creates the default group of its caller.
  expect((await list(network, "security-groups")).slice(0, 1)).toMatchObject([
    { id: GROUP, name: "default", project_id: "demo", security_group_rules: [{ id: RULE, remote_group_id: GROUP }] },
  ]);
});

test("the next address of the flat network is not one that a port already had", async () => {
  addFlatRecords();
  const { ports } = open();
  const server = { uuid: SERVER, projectId: "demo", host: null, availabilityZone: null, hostname: null };
  const addresses = Array.from({ length: 8 }, () => {
    const [id = ""] = ports.attach(server, [{ network: NETWORK_ID }], []);
    return ports.get(id)?.fixedIps[0]?.address;
  });
  expect(new Set([...addresses, "10.0.0.7", "10.0.0.8"]).size).toBe(10);
});

test("a second start leaves an older cloud without the start networks of new ones", async () => {
  addFlatRecords();
  open();
  expect((await list(open(), "networks")).map(({ name }) => name)).toEqual(["private"]);
  expect(sql.get("SELECT 1 FROM sqlite_schema WHERE name LIKE 'flat_%'")).toBeUndefined();
});

test("a new cloud starts with the networks of its configuration", async () => {
  expect((await list(open(), "networks")).map(({ name }) => name).sort()).toEqual(["public", "shared"]);
});
