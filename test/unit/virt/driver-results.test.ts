import { describe, expect, test } from "vitest";
import type { DriverOutcome } from "../../../src/virt/driver-call.js";
import type { DriverHost } from "../../../src/virt/driver-host.js";
import type { DriverMethod } from "../../../src/virt/driver-methods.js";
import { VirtDriverMisbehaved } from "../../../src/virt/errors.js";
import { ProviderTree, type VirtDriver } from "../../../src/virt/index.js";
import { hostOf, instanceOf, NO_DEVICES, OTHER_UUID, UUID } from "./fixtures.js";

/** Methods of the contract that return a value. */
type MethodWithResult = {
  [M in DriverMethod]: ReturnType<NonNullable<VirtDriver[M]>> extends Promise<void> ? never : M;
}[DriverMethod];

interface Checked {
  readonly ask: (host: DriverHost) => unknown;
  /** Result that breaks one rule → the rule, and the reported value. */
  readonly broken: readonly (readonly [result: unknown, rule: string, found: string])[];
}

const instance = instanceOf();
const DATA = { blockMigration: true, sharedInstanceFiles: false };
const RESOURCE = {
  vcpus: 4,
  memoryMb: 1024,
  localGb: 10,
  vcpusUsed: 0,
  memoryMbUsed: 0,
  localGbUsed: 0,
  cpuInfo: null,
  numaTopology: null,
  hypervisorType: "fake",
  hypervisorVersion: 1,
  hypervisorHostname: "devstack1",
  supportedInstances: [["x86_64", "kvm", "hvm"]],
  diskAvailableLeast: null,
};
const HYPHENS = "uuids in lower case with hyphens";
const IN_LIST = "in the list it returned";
const COUNT = "a whole number, 0 to 2147483647";

function yesOrNo(ask: Checked["ask"]): Checked {
  return {
    ask,
    broken: [
      ["yes", "return true or false", 'found "yes"'],
      [undefined, "return true or false", "found undefined"],
    ],
  };
}

function listOf(what: string, ask: Checked["ask"], good: string): Checked {
  return {
    ask,
    broken: [
      ["abc", `return a list of ${what}`, 'found "abc"'],
      [[1], `return a list of ${what}`, `found 1 ${IN_LIST}`],
      [[""], `return a list of ${what}`, `found "" ${IN_LIST}`],
      [[good, good], `return unique ${what}`, `found "${good}" twice`],
    ],
  };
}

function moveData(ask: Checked["ask"]): Checked {
  return {
    ask,
    broken: [
      [null, "return the migration's data (an object)", "found null"],
      [{ ...DATA, blockMigration: 1 }, "return true or false as blockMigration of the migration's data", "found 1"],
      [
        { ...DATA, sharedInstanceFiles: undefined },
        "return true or false as sharedInstanceFiles of the migration's data",
        "found undefined",
      ],
      [{ ...DATA, size: 1n }, "return data that JSON can represent", "found an unprintable object"],
    ],
  };
}

/** Invalid values of the node's resources, by key. */
const WRONG: Readonly<Record<keyof typeof RESOURCE | "uuid" | "stats", readonly [value: unknown, rule: string]>> = {
  vcpus: [Number.NaN, COUNT],
  memoryMb: [1.5, COUNT],
  localGb: [-1, COUNT],
  vcpusUsed: ["1", COUNT],
  memoryMbUsed: [undefined, COUNT],
  localGbUsed: [-0.5, "a number, 0 to 2147483647"],
  cpuInfo: [1, "a string or null"],
  numaTopology: [{}, "a string or null"],
  hypervisorType: ["", "a string that is not empty"],
  hypervisorVersion: [-1, COUNT],
  hypervisorHostname: [null, "a string that is not empty"],
  supportedInstances: [[["x86_64", "kvm"]], "a list of [architecture, hypervisor type, vm mode]"],
  diskAvailableLeast: [0.5, "a whole number or null"],
  uuid: [UUID.toUpperCase().replace("1", "A"), "a uuid in lower case with hyphens"],
  stats: [{ a: 1 }, "an object of strings"],
};

const resources: Checked = {
  ask: (host) => host.getAvailableResource("a"),
  broken: [
    [undefined, "return an object with the node's resources", "found undefined"],
    ...Object.entries(WRONG).map(
      ([key, [value, rule]]) => [{ ...RESOURCE, [key]: value }, `return ${rule} as ${key}`, "found "] as const,
    ),
    ...Object.keys(RESOURCE).map((key) => {
      const rest = Object.fromEntries(Object.entries(RESOURCE).filter(([name]) => name !== key));
      const [, rule] = WRONG[key as keyof typeof RESOURCE];
      return [rest, `return ${key} (${rule})`, "the key is missing"] as const;
    }),
  ],
};

const someInstances = "return a list of instances from its argument, each at most once";

/** Every method with a result, and every rule for that result. */
const RESULT_CASES: Readonly<Record<MethodWithResult, Checked>> = {
  processInstancesAtStartup: {
    ask: (host) => host.processInstancesAtStartup([instance]),
    broken: [
      [null, someInstances, "found null"],
      [[{ uuid: OTHER_UUID }], someInstances, `found "${OTHER_UUID}" ${IN_LIST}`],
      [[instance, instance], someInstances, `found "${UUID}" ${IN_LIST}`],
      [["vm1"], someInstances, `found "vm1" ${IN_LIST}`],
    ],
  },
  listInstanceUuids: {
    ...listOf("uuids", (host) => host.listInstanceUuids(), UUID),
    broken: [
      ...listOf("uuids", () => undefined, UUID).broken,
      [["vm1"], `return ${HYPHENS}`, `found "vm1" ${IN_LIST}`],
    ],
  },
  getAvailableNodes: listOf("names", (host) => host.getAvailableNodes(), "a"),
  getNodenamesByUuid: {
    ask: (host) => host.getNodenamesByUuid(),
    broken: [
      [{}, "return a Map of uuid to node name", "found {}"],
      [new Map([["a", "b"]]), `return ${HYPHENS} as keys`, 'found "a" among the keys'],
      [new Map([[UUID, null]]), "return a node name for each uuid", `found null for ${UUID}`],
      [
        new Map([
          [UUID, "a"],
          [OTHER_UUID, "a"],
        ]),
        "return unique node names",
        'found "a" twice',
      ],
    ],
  },
  isNodeDeleted: yesOrNo((host) => host.isNodeDeleted("devstack1")),
  getAvailableResource: resources,
  getHostIpAddr: {
    ask: async (host) => host.getHostIpAddr(),
    broken: [
      [127, "return a string that is not empty", "found 127"],
      ["", "return a string that is not empty", 'found ""'],
      [Promise.resolve("127.0.0.1"), "return a string that is not empty", "found "],
    ],
  },
  getInfo: {
    ask: (host) => host.getInfo(instance),
    broken: [
      [null, "return an object with the guest's state", "found null"],
      [{ state: 5 }, "return one of Nova's power states (0, 1, 3, 4, 6, 7) as state", "found 5"],
      [{ state: 1, internalId: 7 }, "return a string as internalId, if any", "found 7"],
    ],
  },
  getVolumeConnector: {
    ask: (host) => host.getVolumeConnector(instance),
    broken: [
      [null, "return an object of strings and booleans", "found null"],
      [{ host: 7 }, "return an object of strings and booleans", "found 7 as host"],
    ],
  },
  listVolumes: {
    ask: (host) => host.listVolumes(instance),
    broken: [
      ["vdb", "return a list of the guest's volumes", 'found "vdb"'],
      [[{ volumeId: "v" }], "return volumeId and deviceName of each of the guest's volumes", "found {"],
    ],
  },
  getHostUptime: {
    ask: (host) => host.getHostUptime(),
    broken: [
      [7, "return a string that is not empty", "found 7"],
      ["", "return a string that is not empty", 'found ""'],
    ],
  },
  getConsoleOutput: {
    ask: (host) => host.getConsoleOutput(instance),
    broken: [[null, "return a string", "found null"]],
  },
  getDiagnostics: {
    ask: (host) => host.getDiagnostics(instance),
    broken: [
      [[], "return an object of numbers and strings", "found []"],
      [{ memory: null }, "return an object of numbers and strings", "found null as memory"],
      [{ cpu0_time: Number.NaN }, "return an object of numbers and strings", "found NaN as cpu0_time"],
    ],
  },
  getInstanceDiagnostics: {
    ask: (host) => host.getInstanceDiagnostics(instance),
    broken: [[null, "return an object with the guest's resource usage", "found null"]],
  },
  instanceExists: yesOrNo((host) => host.instanceExists(instance)),
  instanceOnDisk: yesOrNo((host) => host.instanceOnDisk(instance)),
  deleteInstanceFiles: yesOrNo((host) => host.deleteInstanceFiles(instance)),
  cleanupLingeringInstanceResources: yesOrNo((host) => host.cleanupLingeringInstanceResources(instance)),
  checkInstanceSharedStorageLocal: {
    ask: (host) => host.checkInstanceSharedStorageLocal(instance),
    broken: [
      ["file", "return a token (an object) or null", 'found "file"'],
      [{ size: 1n }, "return a token that JSON can represent", "found an unprintable object"],
    ],
  },
  checkInstanceSharedStorageRemote: yesOrNo((host) => host.checkInstanceSharedStorageRemote({})),
  migrateDiskAndPowerOff: {
    ask: (host) =>
      host.migrateDiskAndPowerOff(instance, { ...NO_DEVICES, destIp: "127.0.0.2", flavor: instance.flavor }),
    broken: [[{ disks: [] }, "return a string", 'found {"disks"']],
  },
  checkCanLiveMigrateDestination: moveData((host) =>
    host.checkCanLiveMigrateDestination(instance, { blockMigration: null, diskOverCommit: false }),
  ),
  checkCanLiveMigrateSource: moveData((host) => host.checkCanLiveMigrateSource(instance, DATA)),
  preLiveMigration: moveData((host) => host.preLiveMigration(instance, { ...NO_DEVICES, data: DATA })),
};

describe.each(Object.entries(RESULT_CASES))("8.1 the result of %s is checked", (method, { ask, broken }) => {
  test.each(broken)("8.1 $0: must $1", async (result, rule, found) => {
    const outcomes: DriverOutcome[] = [];
    const changes = { [method]: () => result };
    const { host } = await hostOf(changes, { observe: (_method, _ms, outcome) => outcomes.push(outcome) });
    const error: unknown = await Promise.resolve()
      .then(() => ask(host))
      .then(() => null)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VirtDriverMisbehaved);
    expect(error).toMatchObject({ driver: "broken", method, rule });
    expect(String(error)).toContain(`driver broken: ${method} must ${rule}, but ${found}`);
    // The address is not an asynchronous call, so it is neither timed nor measured.
    if (method !== "getHostIpAddr") {
      expect(outcomes).toEqual(["misbehaved"]);
    }
  });
});

test("8.1 updateProviderTree must never remove or rename the root provider", async () => {
  const { host } = await hostOf({ updateProviderTree: (tree: ProviderTree) => tree.remove("devstack1") });
  const tree = new ProviderTree();
  tree.newRoot("devstack1", UUID);
  await expect(host.updateProviderTree(tree, "devstack1")).rejects.toThrow(
    "driver broken: updateProviderTree must never remove or rename the root provider, but devstack1 is gone",
  );
});
