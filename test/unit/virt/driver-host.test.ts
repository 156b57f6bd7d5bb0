import { describe, expect, test, vi } from "vitest";
import type { DriverOutcome } from "../../../src/virt/driver-call.js";
import { createDriverHost, type DriverHost, type DriverHostOptions } from "../../../src/virt/driver-host.js";
import { DRIVER_METHODS, type DriverMethod } from "../../../src/virt/driver-methods.js";
import { VirtDriverMisbehaved, VirtDriverTimeout } from "../../../src/virt/errors.js";
import {
  type DriverContext,
  defineDriver,
  GuestNotFound,
  NotImplemented,
  ProviderTree,
  VirtDriverNotReady,
} from "../../../src/virt/index.js";
import { driverWith, instanceOf, NODE_UUID, OTHER_UUID, UUID, virtualContext } from "./fixtures.js";

const hostOf = async (changes: Readonly<Record<string, unknown>> = {}, options: DriverHostOptions = {}) => {
  const { runtime, context } = virtualContext();
  let given: DriverContext | undefined;
  const definition = defineDriver({
    name: "broken",
    apiVersion: "1.0",
    create: (doors) => {
      given = doors;
      return driverWith(changes);
    },
  });
  const host = await createDriverHost(definition, context, options);
  const emit = (event: unknown) => given?.emitEvent(event as never);
  return { runtime, host, emit };
};

/** A promise of an author's own making. */
const THENABLE: string = "then";
const instance = instanceOf();
const noDevices = { network: [], blockDevices: { rootDeviceName: "/dev/vda", blockDeviceMapping: [] } };
const spawnOptions = {
  ...noDevices,
  image: { id: "i", name: "i", diskFormat: "raw", containerFormat: "bare", minDisk: 0, minRam: 0, properties: {} },
  allocations: {},
  powerOn: true,
};
const resource = {
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

describe("defaults of methods that a driver leaves out (spec 8.1, 8.2)", () => {
  test("processInstancesAtStartup is all instances", async () => {
    const { host } = await hostOf();
    expect(await host.processInstancesAtStartup([instance])).toEqual([instance]);
  });

  test("getNodenamesByUuid is the local uuid and the first available node", async () => {
    const { host } = await hostOf({ getAvailableNodes: async () => ["b", "a"] });
    expect(await host.getNodenamesByUuid()).toEqual(new Map([[NODE_UUID, "b"]]));
  });

  test("getNodenamesByUuid is empty without a node", async () => {
    const { host } = await hostOf({ getAvailableNodes: async () => [] });
    expect(await host.getNodenamesByUuid()).toEqual(new Map());
  });

  test("instanceExists searches the uuids", async () => {
    const { host } = await hostOf({ listInstanceUuids: async () => [UUID] });
    expect(await host.instanceExists(instance)).toBe(true);
    expect(await host.instanceExists(instanceOf({ uuid: OTHER_UUID }))).toBe(false);
  });

  test("yes-or-no methods", async () => {
    const { host } = await hostOf();
    expect(await host.isNodeDeleted("devstack1")).toBe(false);
    expect(await host.instanceOnDisk(instance)).toBe(false);
    expect(await host.deleteInstanceFiles(instance)).toBe(true);
    expect(await host.cleanupLingeringInstanceResources(instance)).toBe(true);
  });

  test("methods that then do nothing", async () => {
    const { host } = await hostOf();
    await expect(host.prepareForSpawn(instance)).resolves.toBeUndefined();
    await expect(host.failedSpawnCleanup(instance)).resolves.toBeUndefined();
    await expect(host.resumeStateOnHostBoot(instance)).resolves.toBeUndefined();
    await expect(host.setHostEnabled(true)).resolves.toBeUndefined();
    await expect(host.liveMigrationAbort(instance)).resolves.toBeUndefined();
    await expect(host.checkInstanceSharedStorageCleanup({})).resolves.toBeUndefined();
  });

  test("3.3 without a local storage probe: NotImplemented, and supports() says so before", async () => {
    const { host } = await hostOf();
    expect(host.supports("checkInstanceSharedStorageLocal")).toBe(false);
    await expect(host.checkInstanceSharedStorageLocal(instance)).rejects.toThrow(NotImplemented);
    await expect(host.checkInstanceSharedStorageRemote({})).rejects.toThrow(
      /broken has no checkInstanceSharedStorageRe/,
    );
  });

  test.each(["pause", "unpause", "suspend", "resume"] as const)("%s: NotImplemented", async (method) => {
    const { host } = await hostOf();
    await expect(host[method](instance)).rejects.toThrow(NotImplemented);
  });

  test("finishRevertMigration powers on, if that is wanted", async () => {
    const powerOn = vi.fn(async () => {});
    const { host } = await hostOf({ powerOn });
    await host.finishRevertMigration(instance, { powerOn: false });
    expect(powerOn).not.toHaveBeenCalled();
    await host.finishRevertMigration(instance, { powerOn: true });
    expect(powerOn).toHaveBeenCalledOnce();
  });

  test("capabilities and rebalancesNodes are false", async () => {
    const { host } = await hostOf({ capabilities: { supportsEvacuate: true } });
    expect(host.capabilities.supportsEvacuate).toBe(true);
    expect(host.capabilities.supportsImageTypeRaw).toBe(false);
    expect(host.rebalancesNodes).toBe(false);
  });
});

describe("what the core adds", () => {
  test("nodeIsAvailable asks once more with refresh", async () => {
    const getAvailableNodes = vi.fn(async (options?: { refresh?: boolean }) => (options?.refresh ? ["new"] : ["old"]));
    const { host } = await hostOf({ getAvailableNodes });
    expect(await host.nodeIsAvailable("old")).toBe(true);
    expect(getAvailableNodes).toHaveBeenCalledOnce();
    expect(await host.nodeIsAvailable("new")).toBe(true);
    expect(await host.nodeIsAvailable("none")).toBe(false);
  });

  test("powerState of a guest that is not there is nostate", async () => {
    const { host } = await hostOf({ getInfo: () => Promise.reject(new GuestNotFound("gone")) });
    expect(await host.powerState(instance)).toBe(0);
  });

  test("cleanupHost runs once and ends the events", async () => {
    const cleanupHost = vi.fn(async () => {});
    const { host, emit } = await hostOf({ cleanupHost });
    const listener = vi.fn();
    host.setLifecycleListener(listener);
    await host.cleanupHost();
    await host.cleanupHost();
    emit({ timestamp: 1, uuid: UUID, name: "a", transition: "started" });
    await Promise.resolve();
    expect(cleanupHost).toHaveBeenCalledOnce();
    expect(listener).not.toHaveBeenCalled();
  });

  test("V6 the permit is asked before every method that changes guests, and no other", async () => {
    const called: string[] = [];
    const refused: string[] = [];
    const methods = Object.keys(DRIVER_METHODS) as DriverMethod[];
    const all = Object.fromEntries(methods.map((method) => [method, async () => void called.push(method)]));
    const { host } = await hostOf(all, {
      permit: (method, uuid) => {
        refused.push(`${method} ${uuid}`);
        throw new Error("the host lease is not held");
      },
    });
    const attempts: readonly Promise<unknown>[] = [
      host.prepareForSpawn(instance),
      host.spawn(instance, spawnOptions),
      host.failedSpawnCleanup(instance),
      host.destroy(instance, { ...noDevices, destroyDisks: true }),
      host.powerOff(instance),
      host.powerOn(instance),
      host.reboot(instance, "HARD"),
      host.pause(instance),
      host.unpause(instance),
      host.suspend(instance),
      host.resume(instance),
      host.resumeStateOnHostBoot(instance),
      host.deleteInstanceFiles(instance),
      host.cleanupLingeringInstanceResources(instance),
      host.finishRevertMigration(instance, { powerOn: true }),
      host.liveMigrationAbort(instance),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({ status: "rejected", reason: { message: "the host lease is not held" } });
    }
    expect(called).toEqual([]);
    expect(refused).toHaveLength(methods.filter((method) => DRIVER_METHODS[method].changesGuests).length);
    expect(refused.every((call) => call.endsWith(UUID))).toBe(true);
    await host.initHost();
    expect(called).toEqual(["initHost"]);
  });

  test("fault points before and after, and what observe is told", async () => {
    const told: string[] = [];
    const { host } = await hostOf(
      { powerOn: async () => void told.push("driver") },
      {
        point: (method, when) => void told.push(`${when} ${method}`),
        observe: (method, milliseconds, outcome) => void told.push(`${method} ${milliseconds} ${outcome}`),
      },
    );
    await host.powerOn(instance);
    expect(told).toEqual(["before powerOn", "driver", "after powerOn", "powerOn 0 success"]);
  });

  test("an observer that fails is logged", async () => {
    const { host, runtime } = await hostOf(
      {},
      {
        observe: () => {
          throw new Error("metrics");
        },
      },
    );
    await host.powerOn(instance);
    expect(runtime.logs.map(({ message }) => message)).toEqual(["the observer of driver calls failed"]);
  });

  test("the driver's signal is aborted when the caller's is, and the caller gets its reason", async () => {
    const { host, runtime } = await hostOf({
      spawn: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("of the driver's own")));
        }),
    });
    const controller = new AbortController();
    const spawning = host.spawn(instance, { ...spawnOptions, signal: controller.signal });
    await runtime.advance(0);
    controller.abort(new Error("deleted meanwhile"));
    await expect(spawning).rejects.toThrow("deleted meanwhile");
  });

  test("a call that is aborted while the permit is waited for is never made", async () => {
    const spawn = vi.fn(async () => {});
    const controller = new AbortController();
    const { host } = await hostOf({ spawn }, { permit: async () => controller.abort(new Error("deleted meanwhile")) });
    await expect(host.spawn(instance, { ...spawnOptions, signal: controller.signal })).rejects.toThrow(
      "deleted meanwhile",
    );
    expect(spawn).not.toHaveBeenCalled();
  });
});

describe("broken drivers", () => {
  test.each<[string, Readonly<Record<string, unknown>>, (host: DriverHost) => Promise<unknown>, RegExp]>([
    [
      "throws no Error",
      { powerOn: () => Promise.reject("oops") },
      (host) => host.powerOn(instance),
      /powerOn must throw Errors only, but it threw "oops"/,
    ],
    [
      "throws undefined at once",
      {
        powerOn: () => {
          throw undefined;
        },
      },
      (host) => host.powerOn(instance),
      /powerOn must throw Errors only, but it threw undefined/,
    ],
    [
      "lists no list",
      { listInstanceUuids: () => "abc" },
      (host) => host.listInstanceUuids(),
      /listInstanceUuids must return a list of uuids, but found "abc"/,
    ],
    [
      "lists numbers",
      { listInstanceUuids: () => [1] },
      (host) => host.listInstanceUuids(),
      /listInstanceUuids must return a list of uuids, but found 1/,
    ],
    [
      "lists names for uuids",
      { listInstanceUuids: () => ["vm1"] },
      (host) => host.listInstanceUuids(),
      /listInstanceUuids must return uuids in lower case with hyphens, but found "vm1"/,
    ],
    [
      "lists a guest twice",
      { listInstanceUuids: () => [UUID, UUID] },
      (host) => host.listInstanceUuids(),
      /listInstanceUuids must return unique uuids/,
    ],
    [
      "lists a node twice",
      { getAvailableNodes: () => ["a", "a"] },
      (host) => host.getAvailableNodes(),
      /getAvailableNodes must return unique names, but found "a" twice/,
    ],
    [
      "gives an object for a map",
      { getNodenamesByUuid: () => ({}) },
      (host) => host.getNodenamesByUuid(),
      /getNodenamesByUuid must return a Map/,
    ],
    [
      "maps no uuid",
      { getNodenamesByUuid: () => new Map([["a", "b"]]) },
      (host) => host.getNodenamesByUuid(),
      /uuids in lower case with hyphens as keys, but found "a"/,
    ],
    [
      "maps to nothing",
      { getNodenamesByUuid: () => new Map([[UUID, null]]) },
      (host) => host.getNodenamesByUuid(),
      /a node name for each uuid, but found null/,
    ],
    [
      "maps two uuids to one name",
      {
        getNodenamesByUuid: () =>
          new Map([
            [UUID, "a"],
            [OTHER_UUID, "a"],
          ]),
      },
      (host) => host.getNodenamesByUuid(),
      /unique node names/,
    ],
    [
      "forgets the resources",
      { getAvailableResource: () => undefined },
      (host) => host.getAvailableResource("a"),
      /getAvailableResource must return an object/,
    ],
    [
      "forgets a key",
      { getAvailableResource: () => ({ ...resource, memoryMb: undefined }) },
      (host) => host.getAvailableResource("a"),
      /getAvailableResource must return a whole number, 0 or more as memoryMb, but found undefined/,
    ],
    [
      "has NaN CPUs",
      { getAvailableResource: () => ({ ...resource, vcpus: Number.NaN }) },
      (host) => host.getAvailableResource("a"),
      /0 or more as vcpus/,
    ],
    [
      "has a wrong uuid",
      { getAvailableResource: () => ({ ...resource, uuid: "x" }) },
      (host) => host.getAvailableResource("a"),
      /uuid in lower case with hyphens as uuid/,
    ],
    [
      "has numbers as stats",
      { getAvailableResource: () => ({ ...resource, stats: { a: 1 } }) },
      (host) => host.getAvailableResource("a"),
      /an object of texts as stats/,
    ],
    [
      "makes up a power state",
      { getInfo: () => ({ state: 5 }) },
      (host) => host.getInfo(instance),
      /getInfo must return one of Nova's power states \(0, 1, 3, 4, 6, 7\) as state, but found 5/,
    ],
    [
      "has no info",
      { getInfo: () => null },
      (host) => host.getInfo(instance),
      /getInfo must return an object with the guest's state, but found null/,
    ],
    [
      "answers yes in words",
      { instanceExists: () => "yes" },
      (host) => host.instanceExists(instance),
      /instanceExists must return true or false, but found "yes"/,
    ],
    [
      "makes up instances",
      { processInstancesAtStartup: () => [{ uuid: OTHER_UUID }] },
      (host) => host.processInstancesAtStartup([instance]),
      /processInstancesAtStartup must return a list of some of the instances/,
    ],
    [
      "doubles an instance",
      { processInstancesAtStartup: () => [instance, instance] },
      (host) => host.processInstancesAtStartup([instance]),
      /each once/,
    ],
    [
      "has a token that is none",
      { checkInstanceSharedStorageLocal: () => "file" },
      (host) => host.checkInstanceSharedStorageLocal(instance),
      /checkInstanceSharedStorageLocal must return a token/,
    ],
    [
      "has a token that cannot travel",
      { checkInstanceSharedStorageLocal: () => ({ size: 1n }) },
      (host) => host.checkInstanceSharedStorageLocal(instance),
      /token that JSON can carry/,
    ],
    [
      "has an address that is none",
      { getHostIpAddr: () => 127 },
      async (host) => host.getHostIpAddr(),
      /getHostIpAddr must return a text/,
    ],
    [
      "has an address asynchronously",
      { getHostIpAddr: async () => "127.0.0.1" },
      async (host) => host.getHostIpAddr(),
      /getHostIpAddr must return a text/,
    ],
    [
      "removes the root",
      { updateProviderTree: (tree: ProviderTree) => tree.remove("devstack1") },
      (host) => {
        const tree = new ProviderTree();
        tree.newRoot("devstack1", UUID);
        return host.updateProviderTree(tree, "devstack1");
      },
      /updateProviderTree must never remove or rename the root provider, but devstack1 is gone/,
    ],
  ])("a driver that %s", async (_, changes, act, message) => {
    const outcomes: DriverOutcome[] = [];
    const { host } = await hostOf(changes, { observe: (_method, _ms, outcome) => outcomes.push(outcome) });
    const error = await act(host).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(VirtDriverMisbehaved);
    expect(String(error)).toMatch(message);
    expect(String(error)).toContain("driver broken");
    // The address is no call that could hang, and none that is measured.
    if (!("getHostIpAddr" in changes)) expect(outcomes).toEqual(["misbehaved"]);
  });

  test.each(Object.keys(resource))("a driver whose resources lack %s: the message names it", async (key) => {
    const given = Object.fromEntries(Object.entries(resource).filter(([name]) => name !== key));
    const { host } = await hostOf({ getAvailableResource: async () => given });
    await expect(host.getAvailableResource("a")).rejects.toThrow(
      new RegExp(`getAvailableResource must return ${key} .*the key is missing`),
    );
  });

  test("a driver that hangs is told to stop, then given up, and its late answer is dropped", async () => {
    let aborted = false;
    let answer: (value: unknown) => void = () => {};
    const outcomes: DriverOutcome[] = [];
    const { host, runtime } = await hostOf(
      {
        listInstanceUuids: ({ signal }: { signal: AbortSignal }) => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return new Promise((resolve) => {
            answer = resolve;
          });
        },
      },
      { timeouts: { listInstanceUuids: 1000 }, grace: 500, observe: (_method, _ms, outcome) => outcomes.push(outcome) },
    );
    const listing = host.listInstanceUuids().catch((error: unknown) => error);
    await runtime.advance(1000);
    expect(aborted).toBe(true);
    expect(outcomes).toEqual([]);
    await runtime.advance(500);
    const error = await listing;
    expect(error).toBeInstanceOf(VirtDriverTimeout);
    expect(String(error)).toMatch(/driver broken: listInstanceUuids must settle within 1000 ms/);
    expect(outcomes).toEqual(["timeout"]);
    answer([UUID]);
    await runtime.advance(0);
    expect(runtime.logs.map(({ message }) => message)).toEqual([
      "driver broken: listInstanceUuids succeeded after it had been given up; its result is dropped",
    ]);
  });

  test("a driver that heeds its signal is not waited for any longer", async () => {
    const { host, runtime } = await hostOf(
      {
        powerOff: (_: unknown, { signal }: { signal: AbortSignal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      },
      { timeouts: { powerOff: 1000 } },
    );
    const stopping = host.powerOff(instance).catch((error: unknown) => error);
    await runtime.advance(1000);
    expect(await stopping).toBeInstanceOf(VirtDriverTimeout);
    expect(runtime.world.planned).toBe(0);
  });

  test("a driver that settles twice counts once", async () => {
    const { host } = await hostOf({
      getAvailableNodes: () => ({
        [THENABLE]: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
          resolve(["first"]);
          resolve(["second"]);
          reject(new Error("third"));
        },
      }),
    });
    expect(await host.getAvailableNodes()).toEqual(["first"]);
  });

  test("errors of the contract are known by their name, too", async () => {
    const foreign = Object.assign(new Error("not yet"), { name: "VirtDriverNotReady" });
    const { host } = await hostOf({ getAvailableNodes: () => Promise.reject(foreign) });
    const error = await host.getAvailableNodes().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VirtDriverNotReady);
    expect(error).toMatchObject({ message: "not yet", cause: foreign });
  });

  test("other errors come out as they are", async () => {
    const own = new TypeError("a bug");
    const { host } = await hostOf({ powerOn: () => Promise.reject(own) });
    await expect(host.powerOn(instance)).rejects.toBe(own);
  });

  test("a definition whose create returns no driver, or half of one", async () => {
    const { context } = virtualContext();
    const make = (create: () => unknown) =>
      createDriverHost({ name: "broken", apiVersion: "1.0", create: create as never }, context);
    await expect(make(() => undefined)).rejects.toThrow(
      /create must return a driver \(an object\), but found undefined/,
    );
    await expect(make(() => driverWith({ spawn: undefined, destroy: 1 }))).rejects.toThrow(/spawn, destroy is missing/);
    await expect(make(() => Promise.reject("no"))).rejects.toThrow(/create must throw Errors only/);
    await expect(make(() => driverWith({ capabilities: { supportEvacuate: true } }))).rejects.toThrow(
      /capabilities has supportEvacuate, which this contract does not know/,
    );
    await expect(make(() => driverWith({ capabilities: { supportsEvacuate: 1 } }))).rejects.toThrow(
      /capabilities.supportsEvacuate must be true or false, but found number/,
    );
  });
});

describe("8.5 lifecycle events", () => {
  const event = { timestamp: 1, uuid: UUID, name: "instance-0000002a", transition: "started" };

  test("are delivered in order, after emitEvent returned", async () => {
    const { host, emit, runtime } = await hostOf();
    const heard: string[] = [];
    host.setLifecycleListener(({ transition }) => void heard.push(transition));
    emit(event);
    emit({ ...event, transition: "stopped" });
    expect(heard).toEqual([]);
    await runtime.advance(0);
    expect(heard).toEqual(["started", "stopped"]);
  });

  test("without a listener are dropped", async () => {
    const { emit, runtime } = await hostOf();
    emit(event);
    await runtime.advance(0);
    expect(runtime.logs).toEqual([]);
  });

  test.each([
    ["a lifecycle event", undefined],
    ["a lifecycle event", "started"],
    ["a timestamp in milliseconds", { ...event, timestamp: "now" }],
    ["the guest's uuid", { ...event, uuid: "vm1" }],
    ["the guest's name", { ...event, name: 3 }],
    ["a transition of started", { ...event, transition: "exploded" }],
  ])("that are rubbish are logged and dropped: %s", async (rule, rubbish) => {
    const { host, emit, runtime } = await hostOf();
    const listener = vi.fn();
    host.setLifecycleListener(listener);
    emit(rubbish);
    await runtime.advance(0);
    expect(listener).not.toHaveBeenCalled();
    expect(runtime.logs).toEqual([
      expect.objectContaining({
        level: "warn",
        message: expect.stringContaining(`driver broken: emitEvent must be given ${rule}`),
      }),
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("handler");
      },
    ],
    ["rejects", () => Promise.reject(new Error("handler"))],
  ])("a listener that %s is swallowed and logged", async (_, listener) => {
    const { host, emit, runtime } = await hostOf();
    host.setLifecycleListener(listener);
    emit(event);
    await runtime.advance(0);
    expect(runtime.logs).toMatchObject([{ level: "error", message: "the handler of lifecycle event started failed" }]);
  });
});
