import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { capabilitiesAsTraits, InvalidConfiguration, VirtDriverNotReady } from "../../../../src/virt/index.js";
import { DESTROY, HARNESSES, type Harness, SPAWN } from "../../../unit/drivers/fake-libvirt/fixtures.js";
import { instanceOf, NODE_UUID, OTHER_UUID, UUID, virtualContext } from "../../../unit/virt/fixtures.js";

const vm1 = instanceOf();
const vm2 = instanceOf({ id: 43, uuid: OTHER_UUID, displayName: "vm2" });

describe.each(HARNESSES)("fake-libvirt on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;
  const hypervisor = () => `${harness.folder}/hypervisors/devstack1`;

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  describe("8.1 host, inventory, node methods", () => {
    test("one node, named as the host that used the hypervisor first", async () => {
      expect(await host.getAvailableNodes()).toEqual(["devstack1"]);
      expect(await host.getNodenamesByUuid()).toEqual(new Map([[NODE_UUID, "devstack1"]]));
      expect(await host.nodeIsAvailable("devstack1")).toBe(true);
      expect(await host.nodeIsAvailable("devstack2")).toBe(false);
      expect(await host.isNodeDeleted("devstack2")).toBe(false);
    });

    test("2.4 G5 another --host on the hypervisor reports the same name", async () => {
      const passive = await harness.connect({}, { host: "devstack9" });
      expect(await passive.getAvailableNodes()).toEqual(["devstack1"]);
    });

    test("hypervisor_hostname names it when it is first used, and warns afterwards", async () => {
      const connectionUri = `fake-libvirt://${harness.folder}/hypervisors/other`;
      const first = await harness.connect({ connectionUri, hypervisorHostname: "node7" });
      expect(await first.getAvailableNodes()).toEqual(["node7"]);
      expect(harness.logs).toEqual([]);
      const second = await harness.connect({ connectionUri, hypervisorHostname: "node8" });
      expect(await second.getAvailableNodes()).toEqual(["node7"]);
      expect(harness.logs).toMatchObject([
        { level: "warn", message: expect.stringContaining("is node8, but the hypervisor is node7") },
      ]);
    });

    test("8.8 a rename at run time only warns, once; a restart reports the new name", async () => {
      const file = `${hypervisor()}/hypervisor.json`;
      await harness.files.write(file, (await harness.files.read(file)).replace("devstack1", "renamed"));
      await host.getAvailableResource("devstack1");
      expect((await host.getAvailableResource("devstack1")).hypervisorHostname).toBe("devstack1");
      expect(harness.logs).toMatchObject([
        { level: "warn", message: expect.stringMatching(/names the hypervisor renamed now, but it was devstack1/) },
      ]);
      expect(await (await harness.connect()).getAvailableNodes()).toEqual(["renamed"]);
    });

    test("a broken hypervisor.json aborts the start, naming the file and what to do", async () => {
      await harness.files.write(`${hypervisor()}/hypervisor.json`, "{}");
      await expect(harness.connect()).rejects.toThrow(
        /hypervisor\.json: expected JSON with hostname and uuid .* fix it/,
      );
    });

    test("an empty hypervisor.json, left by a killed agent, is written anew", async () => {
      const { runtime, context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
      await context.files.write("/h/hypervisor.json", "");
      const late = await createDriverHost(definition, context);
      await runtime.runUntil(late.initHost());
      expect(await late.getAvailableNodes()).toEqual(["devstack1"]);
      await late.cleanupHost();
    });

    test("a hypervisor that is known is only read", async () => {
      const { runtime, context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
      const written = vi.spyOn(context.files, "create");
      for (const starts of [1, 1]) {
        const driver = await createDriverHost(definition, context);
        await runtime.runUntil(driver.initHost());
        await driver.cleanupHost();
        expect(written).toHaveBeenCalledTimes(starts);
      }
    });

    test("before initHost nothing is known: VirtDriverNotReady", async () => {
      const { context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
      const early = await createDriverHost(definition, context);
      await expect(early.getAvailableNodes()).rejects.toThrow(VirtDriverNotReady);
      await expect(early.listInstanceUuids()).rejects.toThrow(VirtDriverNotReady);
      await expect(early.getAvailableResource("devstack1")).rejects.toThrow(VirtDriverNotReady);
    });

    test("getAvailableResource: capacity from the options, usage from the domains in any power state", async () => {
      const small = await harness.connect({ vcpus: 4, memoryMb: 4096, diskGb: 100, cpuModel: "Nehalem" });
      await small.spawn(vm1, SPAWN);
      await small.spawn(instanceOf({ ...vm2, ephemeralGb: 5, flavor: { ...vm2.flavor, swap: 1500 } }), {
        ...SPAWN,
        powerOn: false,
      });
      const resource = await small.getAvailableResource("devstack1");
      expect(resource).toMatchObject({
        vcpus: 4,
        memoryMb: 4096,
        localGb: 100,
        vcpusUsed: 4,
        memoryMbUsed: 4096,
        localGbUsed: 47,
        diskAvailableLeast: 53,
        numaTopology: null,
        hypervisorHostname: "devstack1",
      });
      expect(JSON.parse(resource.cpuInfo ?? "")).toMatchObject({
        model: "Nehalem",
        features: expect.arrayContaining(["sse4.2"]),
      });
      expect(resource).not.toHaveProperty("uuid");
    });

    test("an unknown node is refused", async () => {
      await expect(host.getAvailableResource("devstack2")).rejects.toThrow(/has one node, devstack1; found devstack2/);
    });

    test("getHostIpAddr is my_ip", () => {
      expect(host.getHostIpAddr()).toBe("127.0.0.1");
    });

    test("cleanupHost must not stop guests", async () => {
      await host.spawn(vm1, SPAWN);
      await host.cleanupHost();
      const next = await harness.connect();
      expect(await next.powerState(vm1)).toBe(1);
    });
  });

  describe("what others put into the folder", () => {
    const foreign = "44444444-4444-4444-8444-444444444444";

    test("V3 a domain that is not Nova's is listed and counted, and nothing is done to it", async () => {
      const xml = `<domain type='kvm'><name>mine</name><uuid>${foreign}</uuid><memory unit='GiB'>1</memory><vcpu>3</vcpu></domain>`;
      await harness.files.write(`${hypervisor()}/domains/${foreign}.xml`, xml);
      expect(await host.listInstanceUuids()).toEqual([foreign]);
      expect(await host.getAvailableResource("devstack1")).toMatchObject({
        vcpusUsed: 3,
        memoryMbUsed: 1024,
        localGbUsed: 0,
      });
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, DESTROY);
      expect(await harness.files.read(`${hypervisor()}/domains/${foreign}.xml`)).toBe(xml);
    });

    test.each([
      ["cut off", "<domain><name>x</name>"],
      ["of another domain", `<domain><name>x</name><uuid>${UUID}</uuid><memory>1</memory><vcpu>1</vcpu></domain>`],
      ["without a number of CPUs", `<domain><name>x</name><uuid>${foreign}</uuid><memory>1</memory></domain>`],
      ["empty", ""],
      ["no XML", "}{"],
    ])("a file that is %s is present, named in one warning, and breaks no pass", async (_what, xml) => {
      await host.spawn(vm1, SPAWN);
      await harness.files.write(`${hypervisor()}/domains/${foreign}.xml`, xml);
      for (const _pass of [1, 2]) {
        expect(await host.listInstanceUuids()).toEqual([UUID, foreign]);
        expect(await host.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      }
      expect(harness.logs).toMatchObject([
        { level: "warn", message: expect.stringContaining(`domains/${foreign}.xml: `) },
      ]);
    });

    test("a file of another name is ignored with one warning", async () => {
      await harness.files.write(`${hypervisor()}/domains/notes.txt`, "hello");
      expect(await host.listInstanceUuids()).toEqual([]);
      expect(await host.listInstanceUuids()).toEqual([]);
      expect(harness.logs).toMatchObject([{ message: expect.stringContaining("notes.txt is not <uuid>.xml") }]);
    });

    test("a state that is none counts as crashed, with one warning", async () => {
      await host.spawn(vm1, SPAWN);
      await harness.files.write(`${hypervisor()}/state/${UUID}`, "exploded");
      expect(await host.powerState(vm1)).toBe(6);
      await host.powerOn(vm1);
      expect(await host.powerState(vm1)).toBe(1);
      expect(harness.logs.filter(({ message }) => message.includes("found exploded"))).toHaveLength(1);
    });

    test.each(["", "runn", "\0\0\0\0\0\0\0\0", "paus\0\0\0"])(
      "a state of which a loss of power has left %j is that of a guest that is shut off",
      async (left) => {
        await host.spawn(vm1, SPAWN);
        await harness.files.write(`${hypervisor()}/state/${UUID}`, left);
        expect(await host.powerState(vm1)).toBe(4);
        expect(harness.logs).toEqual([]);
      },
    );

    test("a broken guest of Nova's can be destroyed, or made anew by a hard reboot", async () => {
      await host.spawn(vm1, SPAWN);
      await harness.files.write(`${hypervisor()}/domains/${UUID}.xml`, "");
      await host.reboot(vm1, "HARD");
      expect(await host.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      await harness.files.write(`${hypervisor()}/domains/${UUID}.xml`, "");
      await host.destroy(vm1, DESTROY);
      expect(await host.listInstanceUuids()).toEqual([]);
    });
  });

  test("several agents on one hypervisor see each other's guests at once", async () => {
    const other = await harness.connect();
    await Promise.all([host.spawn(vm1, SPAWN), other.spawn(vm2, SPAWN)]);
    expect(await host.listInstanceUuids()).toEqual([UUID, OTHER_UUID]);
    await other.powerOff(vm1);
    expect(await host.powerState(vm1)).toBe(4);
    await host.destroy(vm2, DESTROY);
    expect(await other.listInstanceUuids()).toEqual([UUID]);
    expect(await other.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
  });

  test("two agents that use a new hypervisor at the same time agree on its name", async () => {
    const config = { connectionUri: `fake-libvirt://${harness.folder}/hypervisors/new` };
    const hosts = await Promise.all(["a", "b", "c"].map((name) => harness.connect(config, { host: name })));
    const names = await Promise.all(hosts.map(async (each) => (await each.getAvailableNodes())[0]));
    expect(new Set(names).size).toBe(1);
  });
});

test("8.4 capabilities and the traits that they become", async () => {
  const { context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
  const host = await createDriverHost(definition, context);
  expect(host.capabilities.supportsEvacuate).toBe(true);
  expect(host.capabilities.supportsMigrateToSameHost).toBe(false);
  expect([...capabilitiesAsTraits(host.capabilities)].flatMap(([trait, has]) => (has ? [trait] : [])).sort()).toEqual([
    "COMPUTE_ACCELERATORS",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
  ]);
});

test.each([
  [{}, /\[fake_libvirt\] connection_uri: found nothing/],
  [{ connectionUri: "qemu:///system" }, /found qemu:\/\/\/system, which does not begin with fake-libvirt/],
  [{ connectionUri: "fake-libvirt://relative" }, /whose folder is not absolute/],
  [{ connectionUri: "fake-libvirt:///" }, /which is the root folder/],
  [{ connectionUri: "fake-libvirt:///h", vcpus: 0 }, /\[fake_libvirt\] vcpus: found 0, .* at least 1/],
  [{ connectionUri: "fake-libvirt:///h", cpuModel: "Z80" }, /cpu_model: found "Z80", .* one of generic, /],
  [
    { connectionUri: "fake-libvirt:///h", instancesPath: "nfs" },
    /instances_path: found nfs, expected an absolute folder/,
  ],
  [{ connectionUri: "fake-libvirt:///h", cpuDedicatedSet: "2-99" }, /cpu_dedicated_set: found 2-99 .* CPUs of 0 to 7/],
  [{ connectionUri: "fake-libvirt:///h", devices: ["81:00.0=VGPU"] }, /devices: found 81:00.0=VGPU; expected/],
  [
    { connectionUri: "fake-libvirt:///h", devices: ["0000:81:00.0=VGPU", "0000:81:00.0=VGPU:2"] },
    /devices: found 0000:81:00.0=VGPU:2 twice/,
  ],
])("wrong options are refused, naming section, option, found and allowed: %o", async (config, message) => {
  const { context } = virtualContext({ config });
  const error = await createDriverHost(definition, context).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidConfiguration);
  expect(String(error)).toMatch(message);
});
