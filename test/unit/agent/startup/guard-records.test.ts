import { describe, expect, test } from "vitest";
import {
  checkHostRename,
  checkNewHost,
  driverNodes,
  guardOwnership,
  lookUpNodes,
  nodesByName,
  validateConfig,
} from "../../../../src/agent/startup/ownership-checks.js";
import {
  checkServiceIdentity,
  lookUpService,
  registerService,
} from "../../../../src/agent/startup/register-service.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import {
  COMPUTE_ID_SERVICE_VERSION,
  type ComputeNode,
  OLDEST_SUPPORTED_SERVICE_VERSION,
  SERVICE_VERSION,
  type Service,
} from "../../../../src/records/index.js";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { type StartOptions, StartStage } from "../support/start-stage.js";

const NODE = aComputeNode({ uuid: "u1", host: "here", hypervisorHostname: "node" });
const NAMES = new Map([["u1", "node"]]);

function staged(options: StartOptions & { readonly driver?: object } = {}) {
  const stage = new StartStage(options);
  Object.assign(stage.services.driver, { rebalancesNodes: false, ...options.driver });
  stage.replies["identity.read"] = () => null;
  return stage;
}

async function rejectionOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: { rejection?: { code: string; records: object } }) =>
      error.rejection ? [error.rejection.code, error.rejection.records] : error,
  );
}

describe("2.4 a-d the nodes of this hypervisor", () => {
  test("are what the driver names; null while the hypervisor is not ready", async () => {
    const stage = staged();
    stage.replies["driver.getNodenamesByUuid"] = NAMES;
    expect(await driverNodes(stage.services)).toBe(NAMES);
    stage.replies["driver.getNodenamesByUuid"] = new VirtDriverNotReady("booting");
    expect(await driverNodes(stage.services)).toBeNull();
    stage.replies["driver.getNodenamesByUuid"] = new Error("broken");
    await expect(driverNodes(stage.services)).rejects.toThrow("broken");
  });

  const lookUp = (found: readonly ComputeNode[], names = NAMES, named: readonly ComputeNode[] = []) => {
    const stage = staged();
    stage.replies.compute_nodes_by_uuids = found;
    return { stage, nodes: lookUpNodes(stage.services, names, named, false) };
  };

  test("are looked up by uuid, but those that were found by name; nothing is asked for none", async () => {
    const known = lookUp([], NAMES, [NODE, { ...NODE, uuid: "u2", host: "there" }]);
    expect(await known.nodes).toEqual(new Map([["u1", NODE]]));
    expect(known.stage.argumentsOf("compute_nodes_by_uuids")).toEqual([]);
    const { stage, nodes } = lookUp([NODE]);
    expect(await nodes).toEqual(new Map([["u1", NODE]]));
    expect(stage.argumentsOf("compute_nodes_by_uuids")).toEqual([[{ uuids: ["u1"] }]]);
    expect(stage.runtime.logs).toEqual([]);
    const none = lookUp([NODE], new Map());
    expect(await none.nodes).toEqual(new Map());
    expect(none.stage.argumentsOf("compute_nodes_by_uuids")).toEqual([]);
    expect(none.stage.logged("no compute node is recorded for this hypervisor")).toBe(1);
  });

  test("c: one of another name is refused", async () => {
    const { nodes } = lookUp([{ ...NODE, hypervisorHostname: "old" }]);
    const records = { compute_id: "u1", compute_node: "old", hypervisor: "node" };
    expect(await rejectionOf(nodes)).toEqual(["hypervisor-renamed", records]);
    const unknown = lookUp([{ ...NODE, uuid: "u2", hypervisorHostname: "old" }]);
    expect(await rejectionOf(unknown.nodes), "one that was not asked about").toBeNull();
  });

  test.each([
    [null, "the driver reports"],
    [{ path: "/state/compute_id" }, "compute_id file /state/compute_id contains"],
  ])("says where the uuid is from (%o)", async (file, text) => {
    const stage = staged();
    stage.replies.compute_nodes_by_uuids = [{ ...NODE, hypervisorHostname: "old" }];
    stage.replies["identity.read"] = () => file;
    await expect(lookUpNodes(stage.services, NAMES, [], false)).rejects.toThrow(text);
  });

  test.each<[string, object, boolean]>([
    ["is refused", {}, true],
    ["is not looked at where nodes move between agents", { rebalancesNodes: true }, false],
    [
      "is refused where nodes have identities of their own, and stay",
      { capabilities: { hasNodeIdentities: true } },
      true,
    ],
  ])("d: a node of another host %s", async (_, driver, isRejected) => {
    const stage = staged({ driver });
    const nodes = new Map([["u1", { ...NODE, host: "there" }]]);
    const records = { compute_id: "u1", compute_node: "there", agent: "here" };
    expect(await rejectionOf(checkHostRename(stage.services, nodes))).toEqual(
      isRejected ? ["node-of-other-host", records] : null,
    );
    expect(await rejectionOf(checkHostRename(stage.services, new Map([["u1", NODE]])))).toBeNull();
  });
});

describe("2.4 e, f nobody else has this hypervisor on record", () => {
  const guard = (recorded: readonly ComputeNode[], options: Parameters<typeof staged>[0] = {}) => {
    const stage = staged(options);
    stage.replies.compute_nodes_by_hypervisor_hostname = recorded;
    const runGuard = async () => guardOwnership(stage.services, NAMES, await nodesByName(stage.services, NAMES));
    return { stage, rejection: rejectionOf(runGuard()) };
  };
  const FOREIGN = { ...NODE, uuid: "u2", host: "there" };
  const TWIN = { ...NODE, uuid: "u2" };

  test("its own record, and none, are right", async () => {
    const { stage, rejection } = guard([NODE]);
    expect(await rejection).toBeNull();
    expect(stage.argumentsOf("compute_nodes_by_hypervisor_hostname")).toEqual([[{ hypervisorHostname: "node" }]]);
    expect(await guard([]).rejection).toBeNull();
  });

  test("where nodes move between agents, only this host's are asked for, together", async () => {
    const stage = staged({ driver: { rebalancesNodes: true } });
    stage.replies.compute_nodes_by_host = [NODE, { ...NODE, uuid: "u3", hypervisorHostname: "other" }];
    expect(await nodesByName(stage.services, new Map([...NAMES, ["u2", "second"]]))).toEqual([NODE]);
    expect(stage.argumentsOf("compute_nodes_by_host")).toEqual([[{ host: "here" }]]);
    expect(stage.argumentsOf("compute_nodes_by_hypervisor_hostname")).toEqual([]);
    expect(await nodesByName(stage.services, new Map())).toEqual([]);
  });

  test("f: another host's is refused, unless nodes move between agents", async () => {
    const records = { hypervisor: "node", compute_node: "u2 of host there", agent: "here" };
    expect(await guard([NODE, FOREIGN]).rejection).toEqual(["hypervisor-of-other-host", records]);
    expect(await guard([FOREIGN], { quirks: ["adopt-foreign-hypervisor"] }).rejection).toBeNull();
  });

  test("e: another uuid of this host's is refused", async () => {
    const records = { compute_id: "u1", compute_node: "u2" };
    expect(await guard([NODE, TWIN]).rejection).toEqual(["node-recorded-twice", records]);
    expect(await guard([TWIN], { quirks: ["late-node-collision-check"] }).rejection).toBeNull();
    expect(await guard([FOREIGN, TWIN], { quirks: ["adopt-foreign-hypervisor"] }).rejection).toEqual([
      "node-recorded-twice",
      records,
    ]);
  });
});

describe("2.3 a host that was in service before", () => {
  const check = (
    version: number,
    nodes: readonly ComputeNode[],
    options: { file?: object; identities?: true } = {},
  ) => {
    const stage = staged({ capabilities: { hasNodeIdentities: options.identities ?? false } });
    stage.replies["identity.read"] = () => options.file ?? null;
    stage.replies.compute_nodes_by_host = nodes;
    const service = { id: 3, version } as Service;
    return { stage, rejection: rejectionOf(checkServiceIdentity(stage.services, service)) };
  };
  const before = COMPUTE_ID_SERVICE_VERSION - 1;

  test("with its file nothing is asked; nor where nodes have identities of their own", async () => {
    for (const options of [{ file: { uuid: "u1" } }, { identities: true }] as const) {
      const { stage, rejection } = check(COMPUTE_ID_SERVICE_VERSION, [], options);
      expect(await rejection).toBeNull();
      expect(stage.argumentsOf("compute_nodes_by_host")).toEqual([]);
    }
  });

  test.each([
    [[NODE], { compute_node: "u1" }],
    [[], {}],
  ])("whose agent had one is refused without it (%#)", async (nodes, node) => {
    const { stage, rejection } = check(COMPUTE_ID_SERVICE_VERSION, nodes);
    const service = `3, version ${COMPUTE_ID_SERVICE_VERSION}`;
    expect(await rejection).toEqual(["identity-lost", { service, compute_id: "absent", ...node }]);
    expect(stage.calls).not.toContain("identity.write");
    expect(stage.argumentsOf("compute_nodes_by_host")).toEqual([[{ host: "here" }]]);
  });

  test("of an earlier release gets it from its only node", async () => {
    const { stage, rejection } = check(before, [NODE]);
    expect(await rejection).toBeNull();
    expect(stage.argumentsOf("identity.write")).toEqual([["u1"]]);
  });

  test("of an earlier release without a node, or with several, is refused", async () => {
    const service = `3, version ${before}`;
    expect(await check(before, []).rejection).toEqual(["identity-no-node", { service, compute_nodes: "none" }]);
    const second = { ...NODE, uuid: "u2", hypervisorHostname: "second" };
    expect(await check(before, [NODE, second]).rejection).toEqual([
      "identity-many-nodes",
      { node: "u1", second: "u2" },
    ]);
  });
});

describe("2.2 step 3 a host without a service", () => {
  const check = (guests: readonly string[]) => {
    const stage = staged();
    stage.replies["driver.listInstanceUuids"] = guests;
    return checkNewHost(stage.services);
  };

  test.each([
    [["a"], "its hypervisor 1 guest: a"],
    [["a", "b"], "its hypervisor 2 guests: a, b"],
    [["a", "b", "c", "d", "e"], "5 guests: a, b, c, d, e. To fix"],
    [["a", "b", "c", "d", "e", "f"], "6 guests: a, b, c, d, e, …"],
  ])("with guests %j is not new", async (guests, text) => {
    expect(await rejectionOf(check(guests))).toEqual([
      "guests-on-new-host",
      { service: "absent", guests: String(guests.length) },
    ]);
    await expect(check(guests)).rejects.toThrow(text);
  });

  test("without guests is", async () => {
    expect(await rejectionOf(check([]))).toBeNull();
  });
});

describe("2.2 step 1 the configuration", () => {
  test.each([
    [0, true],
    [-1, false],
    [1, false],
  ])("max_disk_devices_to_attach %i is refused: %s", (maxDiskDevicesToAttach, isRejected) => {
    const view = { config: { compute: { maxDiskDevicesToAttach } } } as never;
    const check = async () => validateConfig(view);
    return expect(rejectionOf(check())).resolves.toEqual(
      isRejected ? ["max-disk-devices-zero", { "[compute] max_disk_devices_to_attach": "0" }] : null,
    );
  });
});

describe("2.1 rows 2 and 4 the host's service", () => {
  const SERVICE = { id: 3, host: "here", version: SERVICE_VERSION } as Service;
  const OLD = OLDEST_SUPPORTED_SERVICE_VERSION - 1;

  const lookUp = (oldest: number, version?: number, ffu = false) => {
    const stage = staged();
    Object.assign(stage.context.config.workarounds, { disableComputeServiceCheckForFfu: ffu });
    stage.replies.service_minimum_version = oldest;
    stage.replies.service_get_by_host = SERVICE;
    return {
      stage,
      found: rejectionOf(lookUpService(stage.context, version)),
      service: () => lookUpService(stage.context, version),
    };
  };

  test("is looked up by host", async () => {
    const { stage, service } = lookUp(OLDEST_SUPPORTED_SERVICE_VERSION);
    expect(await service()).toBe(SERVICE);
    expect(stage.argumentsOf("service_minimum_version")[0]?.[0]).toEqual({ binary: "nova-compute" });
    expect(stage.argumentsOf("service_get_by_host")[0]?.[0]).toEqual({ host: "here", binary: "nova-compute" });
  });

  test.each<[string, number, number | undefined, boolean, boolean]>([
    ["an older agent in the deployment", OLD, undefined, false, true],
    ["the oldest that is supported", OLDEST_SUPPORTED_SERVICE_VERSION, undefined, false, false],
    ["no agent yet", 0, undefined, false, false],
    ["the check switched off", OLD, undefined, true, false],
    ["an agent of before the rule", OLD, OLD, false, false],
  ])("with %s", async (_, oldest, version, ffu, isRejected) => {
    const records = { "oldest service version": String(oldest), agent: String(SERVICE_VERSION) };
    const { stage, found } = lookUp(oldest, version, ffu);
    expect(await found).toEqual(isRejected ? ["service-too-old", records] : null);
    const isRequested = version === undefined && !ffu;
    expect(stage.argumentsOf("service_minimum_version"), "asked only where it counts").toHaveLength(
      isRequested ? 1 : 0,
    );
  });

  const register = (service: Service | null, version?: number) => {
    const stage = staged({ config: { enableNewServices: false } });
    stage.replies.service_create = SERVICE;
    stage.replies.service_update_version = { ...SERVICE, id: 4 };
    return { stage, registered: () => registerService(stage.context, service, version) };
  };

  test("is made for a new host, brought up to date, or left as it is", async () => {
    const fresh = register(null);
    expect(await fresh.registered()).toBe(SERVICE);
    expect(fresh.stage.did).toEqual([
      [
        "service_create",
        { host: "here", binary: "nova-compute", topic: "compute", version: SERVICE_VERSION, enableNewServices: false },
      ],
    ]);
    const old = register({ ...SERVICE, version: SERVICE_VERSION - 1 });
    expect((await old.registered()).id).toBe(4);
    expect(old.stage.did).toEqual([["service_update_version", { id: 3, version: SERVICE_VERSION }]]);
    const same = register(SERVICE);
    expect(await same.registered()).toBe(SERVICE);
    expect(same.stage.did).toEqual([]);
  });

  test("that was made meanwhile is taken; another failure, or one that is gone again, goes up", async () => {
    const { stage, registered } = register(null);
    stage.replies.service_create = new ConductorError("ServiceBinaryExists", "exists");
    stage.replies.service_get_by_host = SERVICE;
    expect(await registered()).toBe(SERVICE);
    stage.replies.service_get_by_host = () => null;
    await expect(registered()).rejects.toMatchObject({ code: "ServiceBinaryExists" });
    stage.replies.service_create = new Error("conductor");
    stage.replies.service_get_by_host = SERVICE;
    await expect(registered()).rejects.toThrow("conductor");
  });
});
