import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { onHost, QosCloud } from "../fixtures/qos-cloud.js";

let qos: QosCloud;

beforeEach(async () => {
  qos = await QosCloud.open();
});
afterEach(() => qos.close());

function setPolicy(policy: string | null) {
  return qos.network("PUT", `/ports/${qos.qosPort}`, { port: { qos_policy_id: policy } });
}

async function setPolicyOfNetwork(policy: string | null) {
  return qos.network("PUT", `/networks/${await qos.vlanNetwork()}`, { network: { qos_policy_id: policy } });
}

/** Returns the allocations of the server with other amounts for its port. */
function withRates(bandwidth: number, packetRate: number) {
  return {
    "devstack1 node": onHost("devstack1")["devstack1 node"],
    "devstack1 bridge": { NET_BW_EGR_KILOBIT_PER_SEC: bandwidth },
    "devstack1 agent": { NET_PACKET_RATE_KILOPACKET_PER_SEC: packetRate },
  };
}

describe("a new QoS policy of a server's port", () => {
  test("changes the server's allocations, and the groups in the port's binding", async () => {
    const id = await qos.activeServer();
    const before = qos.profile();
    const changed = await setPolicy(await qos.createPolicy({ bandwidth: 1500, packetRate: 200 }));
    expect(await qos.allocationsOf(id)).toEqual(withRates(1500, 200));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
    expect(qos.profile()).not.toEqual(before);
    expect(changed.port).toMatchObject({ "binding:profile": qos.profileOn("devstack1") });
  });

  test("moves with the server, and is freed with it", async () => {
    const id = await qos.activeServer();
    await setPolicy(await qos.createPolicy({ bandwidth: 1500, packetRate: 200 }));
    await qos.act(id, { migrate: null });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    await qos.act(id, { revertResize: null });
    await qos.active(id, "devstack1");
    expect(await qos.allocationsOf(id)).toEqual(withRates(1500, 200));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
    await qos.cloud.compute("DELETE", `/servers/${id}/os-interface/${qos.qosPort}`);
    const { "devstack1 node": node } = onHost("devstack1");
    expect(await qos.allocationsOf(id)).toEqual({ "devstack1 node": node });
  });

  test("changes only the amounts of that port", async () => {
    const second = await qos.createQosPort({ bandwidth: 300 });
    const id = await qos.activeServer({ networks: [{ port: qos.qosPort }, { port: second }] });
    await setPolicy(await qos.createPolicy({ bandwidth: 700, packetRate: 500 }));
    expect(await qos.allocationsOf(id)).toEqual(withRates(1000, 500));
  });

  test("frees the resources of a rule that it does not have", async () => {
    const id = await qos.activeServer();
    await setPolicy(await qos.createPolicy({ packetRate: 500 }));
    const { "devstack1 bridge": _, ...others } = onHost("devstack1");
    expect(await qos.allocationsOf(id)).toEqual(others);
    expect(Object.values(qos.profile()?.allocation ?? {})).toEqual([qos.providers.get("devstack1")?.agent]);
  });

  test("frees all of them if it is none", async () => {
    const id = await qos.activeServer();
    await setPolicy(null);
    const { "devstack1 node": node } = onHost("devstack1");
    expect(await qos.allocationsOf(id)).toEqual({ "devstack1 node": node });
    expect(qos.profile()).toEqual({ allocation: {} });
  });

  test("allocates nothing for a type of rule that the port had no provider for", async () => {
    qos.qosPort = await qos.createQosPort({ bandwidth: 1000 });
    const id = await qos.activeServer();
    await setPolicy(await qos.createPolicy({ bandwidth: 1200, packetRate: 200 }));
    const { "devstack1 agent": _, ...others } = withRates(1200, 0);
    expect(await qos.allocationsOf(id)).toEqual(others);
    expect(Object.values(qos.profile()?.allocation ?? {})).toEqual([qos.providers.get("devstack1")?.bridge]);
  });

  test("allocates nothing for a port that had no policy", async () => {
    const policy = await qos.createPolicy({ bandwidth: 1000, packetRate: 500 });
    await setPolicy(null);
    const id = await qos.activeServer();
    await setPolicy(policy);
    const { "devstack1 node": node } = onHost("devstack1");
    expect(await qos.allocationsOf(id)).toEqual({ "devstack1 node": node });
    expect(qos.profile()).toEqual({});
  });
});

describe("a new QoS policy that a server's port cannot have", () => {
  /** Expects that the rejected request has changed neither port nor allocations. */
  async function expectUnchanged(policy: string | null, message: string): Promise<void> {
    const id = await qos.activeServer();
    const before = await qos.network("GET", `/ports/${qos.qosPort}`);
    await expect(setPolicy(policy)).rejects.toThrow(message);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(await qos.network("GET", `/ports/${qos.qosPort}`)).toEqual(before);
  }

  test("is rejected if the host has not enough resources", async () => {
    const policy = await qos.createPolicy({ bandwidth: 1501, packetRate: 500 });
    await expectUnchanged(policy, '409 {"NeutronError":{"type":"QosPlacementAllocationUpdateConflict"');
  });

  test("is rejected if its packet rate has a direction and the former one has none", async () => {
    const policy = await qos.createPolicy({ packetRate: 100, direction: "egress" });
    await expectUnchanged(policy, '501 {"NotImplementedError":{"type":"NotImplementedError"');
  });

  test("leaves the allocations as they were if the update fails after them", async () => {
    await expectUnchanged("11111111-2222-4333-8444-555555555555", '404 {"NeutronError":{"type":"QosPolicyNotFound"');
  });

  test("is rejected without allocations to change", async () => {
    const id = await qos.activeServer();
    const before = qos.profile();
    await qos.replaceAllocations(id, ["devstack1 node"]);
    await expect(setPolicy(null)).rejects.toThrow('400 {"NeutronError":{"type":"PlacementAllocationRpNotExists"');
    expect(qos.profile()).toEqual(before);
    await qos.replaceAllocations(id, []);
    await expect(setPolicy(null)).rejects.toThrow('400 {"NeutronError":{"type":"PlacementAllocationRemoved"');
    expect(qos.profile()).toEqual(before);
  });

  test("is rejected if another request changes its rules meanwhile", async () => {
    const id = await qos.activeServer();
    const before = qos.profile();
    const policy = await qos.createPolicy({ bandwidth: 400, packetRate: 100 });
    const rules = `/qos/policies/${policy}/minimum_bandwidth_rules`;
    const [rule] = (await qos.network("GET", rules)).minimum_bandwidth_rules as { id: string }[];
    const replies = await qos.cloud.concurrently([
      ["PUT", `/network/v2.0/ports/${qos.qosPort}`, { port: { qos_policy_id: policy } }],
      ["PUT", `/network/v2.0${rules}/${rule?.id}`, { minimum_bandwidth_rule: { min_kbps: 450 } }],
    ]);
    expect(replies.map(({ status }) => status)).toEqual([409, 200]);
    expect(replies[0]?.body).toContain("changed during its update");
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(before);
  });

  test("becomes that of the port if several requests change it at the same time", async () => {
    const id = await qos.activeServer();
    const rates = [
      { bandwidth: 400, packetRate: 100 },
      { bandwidth: 300, packetRate: 200 },
    ];
    const requests: ["PUT", string, unknown][] = [];
    for (const each of rates) {
      const port = { qos_policy_id: await qos.createPolicy(each) };
      requests.push(["PUT", `/network/v2.0/ports/${qos.qosPort}`, { port }]);
    }
    const replies = await qos.cloud.concurrently(requests);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(await qos.allocationsOf(id)).toEqual(withRates(300, 200));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });
});

describe("a new QoS policy of the network of a server's port", () => {
  /** Builds a server whose port has the policy of its network. */
  async function serverOnNetwork(): Promise<string> {
    await setPolicyOfNetwork(await qos.createPolicy({ bandwidth: 1000, packetRate: 500 }));
    await setPolicy(null);
    const id = await qos.activeServer();
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    return id;
  }

  test("changes the server's allocations", async () => {
    const id = await serverOnNetwork();
    await setPolicyOfNetwork(await qos.createPolicy({ bandwidth: 1500, packetRate: 200 }));
    expect(await qos.allocationsOf(id)).toEqual(withRates(1500, 200));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });

  test("leaves the allocations of a port with a policy of its own", async () => {
    const id = await qos.activeServer();
    await setPolicyOfNetwork(await qos.createPolicy({ bandwidth: 200 }));
    await setPolicyOfNetwork(null);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("becomes that of the network even if the host has not enough resources", async () => {
    const id = await serverOnNetwork();
    const before = qos.profile();
    const policy = await qos.createPolicy({ bandwidth: 1501, packetRate: 500 });
    expect((await setPolicyOfNetwork(policy)).network).toMatchObject({ qos_policy_id: policy });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(before);
  });
});

describe("a rule of the QoS policy of a server's port", () => {
  test("can neither be created, changed nor deleted if it guarantees resources", async () => {
    const id = await qos.activeServer();
    const policy = qos.cloud.ports.get(qos.qosPort)?.qosPolicyId;
    const path = `/qos/policies/${policy}/minimum_bandwidth_rules`;
    const [rule] = (await qos.network("GET", path)).minimum_bandwidth_rules as { id: string }[];
    const message = '501 {"NotImplementedError"';
    const ingress = { minimum_bandwidth_rule: { min_kbps: 10, direction: "ingress" } };
    await expect(qos.network("POST", path, ingress)).rejects.toThrow(message);
    const less = { minimum_bandwidth_rule: { min_kbps: 10 } };
    await expect(qos.network("PUT", `${path}/${rule?.id}`, less)).rejects.toThrow(message);
    await expect(qos.network("DELETE", `${path}/${rule?.id}`)).rejects.toThrow(message);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });
});
