import { describe, expect, test } from "vitest";
import type { DriverOutcome } from "../../../src/virt/driver-call.js";
import { createDriverHost, type DriverHost } from "../../../src/virt/driver-host.js";
import { VirtDriverMisbehaved, VirtDriverTimeout } from "../../../src/virt/errors.js";
import { ProviderTree, VirtDriverNotReady } from "../../../src/virt/index.js";
import { driverWith, hostOf, instanceOf, OTHER_UUID, UUID, virtualContext } from "./fixtures.js";

/** A promise of an author's own making. */
const THENABLE: string = "then";
const instance = instanceOf();
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
