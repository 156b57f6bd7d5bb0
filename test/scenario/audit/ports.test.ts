import { beforeEach, expect, it } from "vitest";
import { applyPlan } from "../../../src/audit/plan/apply-plan.js";
import { NETWORK_ID } from "../../fixtures/test-network.js";
import { ADMINISTRATOR } from "../../fixtures/world/administrator.js";
import { AuditWorld, NEED } from "../../unit/audit/audit-world.js";

/** An administrator who may change bindings of ports: Neutron's policy requires the role of a service. */
const OPERATOR = { ...ADMINISTRATOR, roles: ["admin", "service"] };

const GONE = "d0000000-0000-4000-8000-0000000000aa";

let world: AuditWorld;

/** A server on `one` with a port, and the id of the port. */
async function serverWithPort(name: string): Promise<readonly [server: string, port: string]> {
  const { uuid, projectId } = world.api.server("one", { displayName: name });
  const [node] = world.api.store.computeNodes.byHost("one");
  await world.allocate(uuid, { [node?.uuid ?? ""]: NEED });
  const server = { uuid, projectId, host: "one", availabilityZone: null, hostname: null };
  const [port = ""] = world.api.network.ports.attach(server, [{ network: NETWORK_ID }], []);
  return [uuid, port];
}

function change(port: string, attributes: string): void {
  world.api.store.database.run(`UPDATE ${attributes}`, port);
}

beforeEach(async () => {
  world = await AuditWorld.open();
  await world.host("one");
  await world.host("two");
  world.api.externalTokens.set("operator", OPERATOR);
  world.networkToken = "operator";
});

it("finds wrong ports, corrects them, and restores them", async () => {
  const [, dangling] = await serverWithPort("dangling");
  const [, misbound] = await serverWithPort("misbound");
  const [leftServer, leftover] = await serverWithPort("leftover");
  await serverWithPort("healthy");
  await world.settle();
  world.reportAll();
  world.api.network.ports.addBinding(leftServer, "two");
  change(dangling, `network_ports SET device_id = '${GONE}' WHERE id = ?`);
  change(misbound, "network_port_bindings SET host = 'two' WHERE port_id = ?");
  const { ports } = world.api.network;
  const states = () =>
    [dangling, misbound, leftover].map((id) => {
      const { deviceId, host, bindings } = ports.get(id) ?? expect.unreachable();
      return [deviceId, host, bindings.map((binding) => `${binding.host} ${binding.status}`)];
    });
  const before = states();

  const { findings, plan, scope } = await world.audit({ thorough: true });
  expect(findings.map(({ code, subject }) => [code, subject.uuid])).toEqual([
    ["dangling-port", dangling],
    ["misbound-port", misbound],
    ["leftover-binding", leftover],
  ]);
  expect(scope.ports).toBe(4);
  const cloud = await world.cloud();
  const outcomes = async (undo: boolean) =>
    (await applyPlan(cloud, plan, { undo })).map(({ outcome }) => outcome.state);

  expect(await outcomes(false)).toEqual(["done", "done", "done"]);
  expect(await world.found({ thorough: true })).toEqual([]);
  expect(states()).toEqual([
    ["", null, []],
    [before[1]?.[0], "one", ["one ACTIVE"]],
    [leftServer, "one", ["one ACTIVE"]],
  ]);
  expect(await outcomes(false)).toEqual(["already", "already", "already"]);
  expect(await outcomes(true)).toEqual(["done", "done", "done"]);
  expect(states()).toEqual(before);
});

it("does not change a port that has changed since the audit", async () => {
  const [, port] = await serverWithPort("misbound");
  await world.settle();
  world.reportAll();
  change(port, "network_port_bindings SET host = 'two' WHERE port_id = ?");
  const { plan } = await world.audit();
  change(port, "network_port_bindings SET host = 'three' WHERE port_id = ?");
  const [line] = await applyPlan(await world.cloud(), plan, { undo: false });
  expect(line?.outcome).toEqual({ state: "refused", why: `port ${port} has changed since the audit` });
});

it("checks no ports in a cloud without a Network service", async () => {
  const [, port] = await serverWithPort("misbound");
  await world.settle();
  world.reportAll();
  change(port, "network_port_bindings SET host = 'two' WHERE port_id = ?");
  const cloud = { ...(await world.cloud()), network: null };
  const { findings, scope } = await world.auditOf(cloud);
  expect([findings, scope.ports]).toEqual([[], null]);
});

async function create(path: string, body: object): Promise<string> {
  const headers = { "x-auth-token": "operator" };
  const url = `/network/v2.0/${path}`;
  const reply = await world.api.ask({ method: "POST", url, headers, token: "operator", body: JSON.stringify(body) });
  return (Object.values(JSON.parse(reply.body))[0] as { id: string }).id;
}

it("finds and returns the resources of a port that its server has lost", async () => {
  const [uuid, port] = await serverWithPort("fast");
  const policy = await create("qos/policies", { policy: { name: "guaranteed" } });
  const rule = { min_kbps: 1000, direction: "egress" };
  await create(`qos/policies/${policy}/minimum_bandwidth_rules`, { minimum_bandwidth_rule: rule });
  change(port, `network_ports SET qos_policy_id = '${policy}' WHERE id = ?`);
  const [node = ""] = world.api.store.computeNodes.byHost("one").map((record) => record.uuid);
  const [group] = world.api.network.ports.resourceRequests(null, [port]).get(port)?.request_groups ?? [];
  world.api.network.ports.saveAllocations(uuid, "one", { [group?.id ?? ""]: [node] });
  await world.settle();
  world.reportAll();
  const { findings, plan } = await world.audit();
  expect(findings.map(({ code, explanation }) => [code, explanation])).toEqual([
    ["wrong-amounts", expect.stringMatching(/less than NET_BW_EGR_KILOBIT_PER_SEC 1000 on one/)],
  ]);
  // A node has no bandwidth of its own: the edit is what a bridge would get.
  expect(plan.edits).toMatchObject([
    { action: { consumers: [{ after: { allocations: { [node]: { ...NEED, NET_BW_EGR_KILOBIT_PER_SEC: 1000 } } } }] } },
  ]);
});
