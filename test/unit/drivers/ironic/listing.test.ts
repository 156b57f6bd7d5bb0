import { describe, expect, test } from "vitest";
import { HashRing } from "../../../../drivers/ironic/node-listing.js";
import { ironicDriver } from "./support/driver.js";
import { FakeIronic, fault } from "./support/fake-ironic.js";

function ironicWith(count: number, changes: (at: number) => Parameters<FakeIronic["add"]>[0] = () => ({})) {
  const ironic = new FakeIronic();
  for (let at = 0; at < count; at += 1) {
    ironic.add(changes(at));
  }
  return ironic;
}

const HEADERS = { "x-openstack-ironic-api-version": "1.82", "openstack-api-version": "baremetal 1.82" };

describe("paging", () => {
  test("uses the query's own filters, whatever the next link contains", async () => {
    const ironic = ironicWith(10, (at) => ({ shard: `shard-${at % 2}` }));
    ironic.maxLimit = 2;
    const { driver } = await ironicDriver({ ironic, config: { shard: "shard-1" } });
    const listed = await driver.getAvailableNodes({ refresh: true });
    expect(listed.map((uuid) => ironic.nodes.get(uuid)?.shard)).toEqual(Array(5).fill("shard-1"));
    const markers = ["000000000003", "000000000007"].map((end) => `00000000-0000-4000-8000-${end}`);
    expect(ironic.requests()).toEqual([
      "GET /",
      "GET /v1/",
      "GET /v1/nodes?shard=shard-1&fields=F",
      `GET /v1/nodes?shard=shard-1&fields=F&sort_key=id&sort_dir=asc&limit=1000&marker=${markers[0]}`,
      `GET /v1/nodes?shard=shard-1&fields=F&sort_key=id&sort_dir=asc&limit=1000&marker=${markers[1]}`,
    ]);
    expect(ironic.observedRequests[2]?.headers).toMatchObject(HEADERS);
    expect(ironic.observedRequests[0]?.headers).not.toHaveProperty("x-openstack-ironic-api-version");
  });

  test("an exactly full last page is followed by an empty one", async () => {
    const ironic = ironicWith(4);
    ironic.maxLimit = 2;
    const { driver } = await ironicDriver({ ironic });
    expect(await driver.getAvailableNodes({ refresh: true })).toHaveLength(4);
    expect(ironic.observedRequests).toHaveLength(2 + 3);
  });

  test("a marker whose node was deleted meanwhile: the listing starts again", async () => {
    const ironic = ironicWith(4);
    ironic.maxLimit = 2;
    const [, second = ""] = [...ironic.nodes.keys()];
    ironic.done = ({ path }) => {
      if (path.includes("/v1/nodes?")) {
        ironic.nodes.delete(second);
      }
    };
    const { driver } = await ironicDriver({ ironic });
    expect(await driver.getAvailableNodes({ refresh: true })).toEqual([...ironic.nodes.keys()]);
  });

  test("the default conductor group is not the same as none", async () => {
    const ironic = ironicWith(4, (at) => (at % 2 === 0 ? {} : { conductor_group: "rack-1" }));
    const inDefault = await ironicDriver({ ironic, config: { conductor_group: "" } });
    expect(await inDefault.driver.getAvailableNodes({ refresh: true })).toHaveLength(2);
    expect(ironic.requests()).toContain("GET /v1/nodes?conductor_group=&fields=F");
    const inAll = await ironicDriver({ ironic });
    expect(await inAll.driver.getAvailableNodes({ refresh: true })).toHaveLength(4);
  });
});

describe("8.1 a listing that failed, is short or contradicts itself changes nothing", () => {
  const page = (nodes: unknown, next?: string) => ({
    status: 200,
    headers: {},
    body: JSON.stringify({ nodes, ...(next ? { next } : {}) }),
  });
  const node = (uuid: string) => ({
    uuid,
    power_state: null,
    provision_state: "available",
    maintenance: false,
    instance_uuid: null,
  });
  const broken = {
    "Ironic is away": "refused",
    "503 for ever": fault(503, "no free conductor workers"),
    "500": fault(500, "boom"),
    "a page that is cut off": { status: 200, headers: {}, body: '{"nodes": [{"uuid": "1' },
    "no list": page(null),
    "a node without uuid": page([{ ...node("x"), uuid: undefined }]),
    "a node without provision_state": page([{ ...node("x"), provision_state: undefined }]),
    "a node twice": page([node("x"), node("x")]),
    "an empty page that says there is more": page([], "http://ironic/v1/nodes?marker=x"),
    "an old version's answer": page([{ uuid: "x" }]),
  } as const;

  test.each(Object.entries(broken))("%s", async (_, response) => {
    const ironic = ironicWith(3);
    const { driver } = await ironicDriver({ ironic });
    const before = await driver.getAvailableNodes({ refresh: true });
    ironic.fault = ({ path }) => (path.includes("/v1/nodes?") ? response : undefined);
    await expect(driver.getAvailableNodes({ refresh: true })).rejects.toMatchObject({ name: "VirtDriverNotReady" });
    expect(await driver.getAvailableNodes()).toEqual(before);
  });

  test("a page that repeats the previous one ends the listing as well", async () => {
    const ironic = ironicWith(3);
    const { driver } = await ironicDriver({ ironic });
    const again = page([node("a"), node("b")], "http://ironic/v1/nodes?marker=b");
    ironic.fault = ({ path }) => (path.includes("/v1/nodes?") ? again : undefined);
    await expect(driver.getAvailableNodes({ refresh: true })).rejects.toMatchObject({ name: "VirtDriverNotReady" });
  });

  test("the conductor is unreachable", async () => {
    const { driver, records } = await ironicDriver({ ironic: ironicWith(3) });
    Object.defineProperty(records, "instances", {
      get: () => {
        throw new Error("MessagingTimeout");
      },
    });
    await expect(driver.getAvailableNodes({ refresh: true })).rejects.toMatchObject({ name: "VirtDriverNotReady" });
  });
});

describe("the host that owns a node", () => {
  const [MINE, OTHERS] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

  test("is decided by the instance, else by the ring of live hosts and this one", async () => {
    const ironic = ironicWith(40);
    const nodes = [...ironic.nodes.values()];
    const ring = new HashRing(["compute-1", "compute-2", "compute-3"]);
    const owned = (host: string) => nodes.filter(({ uuid }) => ring.ownerOf(uuid) === host);
    const [foreign] = owned("compute-2");
    const [taken] = owned("compute-1");
    if (!foreign || !taken) {
      throw new TypeError("the ring gives each host some");
    }
    foreign.instance_uuid = MINE;
    taken.instance_uuid = OTHERS;
    const { driver, records } = await ironicDriver({ ironic, host: "Compute-1" });
    records.instances = [MINE];
    records.hosts = ["COMPUTE-2", "compute-3"];
    const listed = await driver.getAvailableNodes({ refresh: true });
    const free = owned("compute-1").filter((node) => node !== taken);
    expect([...listed].sort()).toEqual([...free, foreign].map(({ uuid }) => uuid).sort());
    expect(await driver.listInstanceUuids()).toEqual([MINE]);
    expect(records.calls).toEqual(["hosts of ironic", "instances"]);
  });

  test("with a conductor group the ring contains only its peers", async () => {
    const ironic = ironicWith(40, () => ({ conductor_group: "rack" }));
    const config = { conductor_group: "rack", peer_list: ["compute-2", "never-up"] };
    const { driver, records } = await ironicDriver({ ironic, config });
    records.hosts = ["compute-1", "compute-2", "compute-3"];
    const ring = new HashRing(["compute-1", "compute-2"]);
    expect(await driver.getAvailableNodes({ refresh: true })).toEqual(
      [...ironic.nodes.keys()].filter((uuid) => ring.ownerOf(uuid) === "compute-1"),
    );
  });

  test("a shard belongs to this host alone", async () => {
    const ironic = ironicWith(40, () => ({ shard: "s" }));
    const { driver, records } = await ironicDriver({ ironic, config: { shard: "s" } });
    records.hosts = ["compute-2"];
    expect(await driver.getAvailableNodes({ refresh: true })).toHaveLength(40);
  });

  test.each([
    [{ shard: "s", peer_list: ["b"] }, "shard and peer_list"],
    [{ peer_list: ["b"] }, "conductor_group"],
  ])("%j is refused", async (config, text) => {
    await expect(ironicDriver({ config })).rejects.toThrow(text);
  });
});

test("4.3 step 4: a node is deleted only if Ironic says 404", async () => {
  const ironic = ironicWith(1);
  const { driver } = await ironicDriver({ ironic });
  const [there = ""] = [...ironic.nodes.keys()];
  const gone = "00000000-0000-4000-8000-00000000dead";
  expect(await driver.isNodeDeleted(there)).toBe(false);
  expect(await driver.isNodeDeleted(gone)).toBe(true);
  for (const failure of ["refused", fault(500, "boom"), fault(401, "who?")] as const) {
    ironic.fault = () => failure;
    await expect(driver.isNodeDeleted(gone)).rejects.toMatchObject({ name: "VirtDriverNotReady" });
  }
});

test("a node read by an operation during a listing is newer than the listing", async () => {
  const ironic = ironicWith(1);
  const [node] = [...ironic.nodes.values()];
  if (!node) {
    throw new TypeError("there is one");
  }
  node.instance_uuid = "11111111-1111-4111-8111-111111111111";
  node.provision_state = "active";
  const { driver, records } = await ironicDriver({ ironic });
  records.instances = [node.instance_uuid];
  await driver.getAvailableNodes({ refresh: true });
  ironic.done = async ({ path }) => {
    if (!path.startsWith("/v1/nodes?fields") || path.includes("instance_uuid=")) {
      return;
    }
    ironic.done = () => undefined;
    node.power_state = "power on";
    await driver.powerOn({ uuid: node.instance_uuid } as never);
  };
  await driver.getAvailableNodes({ refresh: true });
  expect(await driver.powerState({ uuid: node.instance_uuid } as never)).toBe(1);
});
