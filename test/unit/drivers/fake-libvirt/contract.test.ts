import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { createDriverHost } from "../../../../src/virt/driver-host.js";
import {
  BuildAbortException,
  capabilitiesAsTraits,
  GuestNotFound,
  InstanceExists,
  InstanceNotRunning,
  InvalidConfiguration,
  VirtDriverNotReady,
} from "../../../../src/virt/index.js";
import { instanceOf, NODE_UUID, OTHER_UUID, UUID, virtualContext } from "../../virt/fixtures.js";
import { DESTROY, IMAGE, KEEP_DISKS, LABS, type Lab, SPAWN } from "./fixtures.js";

const vm1 = instanceOf();
const vm2 = instanceOf({ id: 43, uuid: OTHER_UUID, displayName: "vm2" });
const GIB = 1024 ** 3;

describe.each(LABS)("fake-libvirt on %s", (_, newLab) => {
  let lab: Lab;
  let host: DriverHost;
  const hypervisor = () => `${lab.folder}/hypervisors/devstack1`;
  const disk = (uuid: string) => `${hypervisor()}/instances/${uuid}/disk`;

  beforeEach(async () => {
    lab = await newLab();
    host = await lab.connect();
  });
  afterEach(() => lab.close());

  describe("8.1 host, inventory, node methods", () => {
    test("one node, named as the host that used the hypervisor first", async () => {
      expect(await host.getAvailableNodes()).toEqual(["devstack1"]);
      expect(await host.getNodenamesByUuid()).toEqual(new Map([[NODE_UUID, "devstack1"]]));
      expect(await host.nodeIsAvailable("devstack1")).toBe(true);
      expect(await host.nodeIsAvailable("devstack2")).toBe(false);
      expect(await host.isNodeDeleted("devstack2")).toBe(false);
    });

    test("2.4 G5 another --host on the hypervisor reports the same name", async () => {
      const passive = await lab.connect({}, { host: "devstack9" });
      expect(await passive.getAvailableNodes()).toEqual(["devstack1"]);
    });

    test("hypervisor_hostname names it when it is first used, and warns afterwards", async () => {
      const connectionUri = `fake-libvirt://${lab.folder}/hypervisors/other`;
      const first = await lab.connect({ connectionUri, hypervisorHostname: "node7" });
      expect(await first.getAvailableNodes()).toEqual(["node7"]);
      expect(lab.logs).toEqual([]);
      const second = await lab.connect({ connectionUri, hypervisorHostname: "node8" });
      expect(await second.getAvailableNodes()).toEqual(["node7"]);
      expect(lab.logs).toMatchObject([
        { level: "warn", message: expect.stringContaining("is node8, but the hypervisor is node7") },
      ]);
    });

    test("8.8 a rename at run time only warns, once; a restart reports the new name", async () => {
      const file = `${hypervisor()}/hypervisor.json`;
      await lab.files.write(file, (await lab.files.read(file)).replace("devstack1", "renamed"));
      await host.getAvailableResource("devstack1");
      expect((await host.getAvailableResource("devstack1")).hypervisorHostname).toBe("devstack1");
      expect(lab.logs).toMatchObject([
        { level: "warn", message: expect.stringMatching(/the hypervisor is renamed now, but it was devstack1/) },
      ]);
      expect(await (await lab.connect()).getAvailableNodes()).toEqual(["renamed"]);
    });

    test("a broken hypervisor.json aborts the start, naming the file and what to do", async () => {
      await lab.files.write(`${hypervisor()}/hypervisor.json`, "{}");
      await expect(lab.connect()).rejects.toThrow(/hypervisor\.json: expected JSON with hostname and uuid .* mend it/);
    });

    test("an empty hypervisor.json, left by a killed agent, is written anew", async () => {
      const { runtime, context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
      await context.files.write("/h/hypervisor.json", "");
      const late = await createDriverHost(definition, context);
      await runtime.runUntil(late.initHost());
      expect(await late.getAvailableNodes()).toEqual(["devstack1"]);
      await late.cleanupHost();
    });

    test("before initHost nothing is known: VirtDriverNotReady", async () => {
      const { context } = virtualContext({ config: { connectionUri: "fake-libvirt:///h" } });
      const early = await createDriverHost(definition, context);
      await expect(early.getAvailableNodes()).rejects.toThrow(VirtDriverNotReady);
      await expect(early.listInstanceUuids()).rejects.toThrow(VirtDriverNotReady);
      await expect(early.getAvailableResource("devstack1")).rejects.toThrow(VirtDriverNotReady);
    });

    test("getAvailableResource: capacity from the options, usage from the domains in any power state", async () => {
      const small = await lab.connect({ vcpus: 4, memoryMb: 4096, diskGb: 100, cpuModel: "Nehalem" });
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
      const next = await lab.connect();
      expect(await next.powerState(vm1)).toBe(1);
    });
  });

  describe("8.2 guests", () => {
    test("spawn makes a running guest with a sparse disk", async () => {
      await host.spawn(vm1, SPAWN);
      expect(await host.listInstanceUuids()).toEqual([UUID]);
      expect(await host.instanceExists(vm1)).toBe(true);
      expect(await host.getInfo(vm1)).toEqual({ state: 1, internalId: "instance-0000002a" });
      expect(await lab.files.stat(disk(UUID))).toMatchObject({ kind: "file", bytes: 20 * GIB });
    });

    test("spawn with powerOn false leaves it shut off", async () => {
      await host.spawn(vm1, { ...SPAWN, powerOn: false });
      expect(await host.powerState(vm1)).toBe(4);
    });

    test("spawn over a guest that is there: InstanceExists, and it is unharmed", async () => {
      await host.spawn(vm1, SPAWN);
      await expect(host.spawn(vm1, SPAWN)).rejects.toThrow(InstanceExists);
      expect(await host.powerState(vm1)).toBe(1);
      expect(await lab.files.stat(disk(UUID))).toBeDefined();
    });

    test("an image that no host can run: BuildAbortException, nothing is left", async () => {
      await expect(host.spawn(vm1, { ...SPAWN, image: { ...IMAGE, diskFormat: "vmdk" } })).rejects.toThrow(
        BuildAbortException,
      );
      expect(await lab.files.list(`${hypervisor()}/instances`)).toEqual([]);
    });

    test("a volume-backed guest has no local root disk", async () => {
      await host.spawn(instanceOf({ imageRef: "" }), SPAWN);
      expect(await lab.files.stat(disk(UUID))).toBeUndefined();
      expect((await host.getAvailableResource("devstack1")).localGbUsed).toBe(0);
    });

    test("destroy removes everything; an absent guest is success", async () => {
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, DESTROY);
      await host.destroy(vm1, DESTROY);
      expect(await host.listInstanceUuids()).toEqual([]);
      for (const folder of ["domains", "state", "instances"]) {
        expect(await lab.files.list(`${hypervisor()}/${folder}`)).toEqual([]);
      }
    });

    test("V5 destroy with destroyDisks false keeps the files", async () => {
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, KEEP_DISKS);
      expect(await host.instanceExists(vm1)).toBe(false);
      expect(await lab.files.stat(disk(UUID))).toMatchObject({ bytes: 20 * GIB });
    });

    test("power off, power on, pause, unpause, suspend, resume", async () => {
      await host.spawn(vm1, SPAWN);
      const states: number[] = [];
      for (const step of [
        () => host.powerOff(vm1),
        () => host.powerOff(vm1),
        () => host.powerOn(vm1),
        () => host.powerOn(vm1),
        () => host.pause(vm1),
        () => host.pause(vm1),
        () => host.unpause(vm1),
        () => host.suspend(vm1),
        () => host.resume(vm1),
        () => host.reboot(vm1, "SOFT"),
      ]) {
        await step();
        states.push(await host.powerState(vm1));
      }
      expect(states).toEqual([4, 4, 1, 1, 3, 3, 1, 7, 1, 1]);
    });

    test.each(["pause", "unpause", "suspend"] as const)(
      "%s of a guest that is off: InstanceNotRunning",
      async (method) => {
        await host.spawn(vm1, { ...SPAWN, powerOn: false });
        await expect(host[method](vm1)).rejects.toThrow(InstanceNotRunning);
        expect(await host.powerState(vm1)).toBe(4);
      },
    );

    test.each(["powerOff", "powerOn", "pause", "unpause", "suspend", "resume", "getInfo"] as const)(
      "%s of a guest that is not there: InstanceNotFound",
      async (method) => {
        await expect(host[method](vm1)).rejects.toThrow(GuestNotFound);
        expect(await host.listInstanceUuids()).toEqual([]);
      },
    );

    test("reboot of a guest that is not there: SOFT is InstanceNotFound, HARD makes it anew", async () => {
      await expect(host.reboot(vm1, "SOFT")).rejects.toThrow(GuestNotFound);
      await host.reboot(vm1, "HARD");
      expect(await host.powerState(vm1)).toBe(1);
      expect(await lab.files.stat(disk(UUID))).toMatchObject({ bytes: 20 * GIB });
    });

    test("resumeStateOnHostBoot starts what is off, and leaves alone what is not", async () => {
      await host.spawn(vm1, { ...SPAWN, powerOn: false });
      await host.resumeStateOnHostBoot(vm1);
      expect(await host.powerState(vm1)).toBe(1);
      await host.pause(vm1);
      await host.resumeStateOnHostBoot(vm1);
      expect(await host.powerState(vm1)).toBe(3);
    });
  });

  describe("files and storage", () => {
    test("instanceOnDisk, deleteInstanceFiles", async () => {
      expect(await host.instanceOnDisk(vm1)).toBe(false);
      await host.spawn(vm1, SPAWN);
      expect(await host.instanceOnDisk(vm1)).toBe(true);
      await host.destroy(vm1, KEEP_DISKS);
      expect(await host.deleteInstanceFiles(vm1)).toBe(true);
      expect(await host.instanceOnDisk(vm1)).toBe(false);
      expect(await host.deleteInstanceFiles(vm1)).toBe(true);
    });

    test("3.3 no files here: null", async () => {
      expect(await host.checkInstanceSharedStorageLocal(vm1)).toBeNull();
    });

    test.each([true, false])(
      "3.3 the token of a host is seen by another with the same folder only (shared: %s)",
      async (shared) => {
        const instancesPath = `${lab.folder}/nfs`;
        const source = await lab.connect({ instancesPath });
        const other = `fake-libvirt://${lab.folder}/hypervisors/devstack2`;
        const dest = await lab.connect(
          { connectionUri: other, ...(shared ? { instancesPath } : {}) },
          { host: "devstack2" },
        );
        await source.spawn(vm1, SPAWN);
        const token = await source.checkInstanceSharedStorageLocal(vm1);
        expect(await dest.checkInstanceSharedStorageRemote(token ?? {})).toBe(shared);
        await source.checkInstanceSharedStorageCleanup(token ?? {});
        expect(await source.checkInstanceSharedStorageRemote(token ?? {})).toBe(false);
        expect(await lab.files.list(`${instancesPath}/${UUID}`)).toEqual(["disk"]);
      },
    );

    test("a token from elsewhere cannot name any file", async () => {
      await host.spawn(vm1, SPAWN);
      for (const token of [
        {},
        { instanceUuid: UUID, file: "disk" },
        { instanceUuid: "..", file: "../hypervisor.json" },
      ]) {
        expect(await host.checkInstanceSharedStorageRemote(token)).toBe(false);
        await host.checkInstanceSharedStorageCleanup(token);
      }
      const up = { instanceUuid: "../..", file: ".shared-storage-0123456789abcdef" };
      await lab.files.write(`${hypervisor()}/instances/../../.shared-storage-0123456789abcdef`, "");
      expect(await host.checkInstanceSharedStorageRemote(up)).toBe(false);
      expect(await lab.files.stat(disk(UUID))).toBeDefined();
    });

    test("6.7 evacuation on shared storage: the destination uses the source's disk", async () => {
      const instancesPath = `${lab.folder}/nfs`;
      const source = await lab.connect({ instancesPath });
      const dest = await lab.connect(
        { instancesPath, connectionUri: `fake-libvirt://${lab.folder}/hypervisors/devstack2` },
        { host: "devstack2" },
      );
      const shared = `${instancesPath}/${UUID}/disk`;
      const tiny = instanceOf({ rootGb: 0 });
      await source.spawn(tiny, SPAWN);
      await lab.files.append(shared, "what the guest wrote");
      expect(await dest.instanceOnDisk(tiny)).toBe(true);
      expect(await dest.instanceExists(tiny)).toBe(false);
      await dest.spawn(tiny, SPAWN);
      await source.destroy(tiny, KEEP_DISKS);
      expect(await lab.files.read(shared)).toBe("what the guest wrote");
      expect(await dest.powerState(tiny)).toBe(1);
    });

    test("a spawn on shared storage that fails leaves the source's disk", async () => {
      const instancesPath = `${lab.folder}/nfs`;
      const source = await lab.connect({ instancesPath });
      await source.spawn(vm1, SPAWN);
      const connectionUri = `fake-libvirt://${lab.folder}/hypervisors/devstack2`;
      const failing = { ...lab.files, ...failingWrites(lab) };
      const dest = await lab.connect({ instancesPath, connectionUri }, { host: "devstack2", files: failing });
      await expect(dest.spawn(vm1, SPAWN)).rejects.toThrow("no space left");
      expect(await dest.listInstanceUuids()).toEqual([]);
      expect(await lab.files.stat(`${instancesPath}/${UUID}/disk`)).toMatchObject({ bytes: 20 * GIB });
    });
  });

  describe("what others put into the folder", () => {
    const foreign = "44444444-4444-4444-8444-444444444444";

    test("V3 a domain that is not Nova's is listed and counted, and nothing is done to it", async () => {
      const xml = `<domain type='kvm'><name>mine</name><uuid>${foreign}</uuid><memory unit='GiB'>1</memory><vcpu>3</vcpu></domain>`;
      await lab.files.write(`${hypervisor()}/domains/${foreign}.xml`, xml);
      expect(await host.listInstanceUuids()).toEqual([foreign]);
      expect(await host.getAvailableResource("devstack1")).toMatchObject({
        vcpusUsed: 3,
        memoryMbUsed: 1024,
        localGbUsed: 0,
      });
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, DESTROY);
      expect(await lab.files.read(`${hypervisor()}/domains/${foreign}.xml`)).toBe(xml);
    });

    test.each([
      ["cut off", "<domain><name>x</name>"],
      ["of another domain", `<domain><name>x</name><uuid>${UUID}</uuid><memory>1</memory><vcpu>1</vcpu></domain>`],
      ["without a number of CPUs", `<domain><name>x</name><uuid>${foreign}</uuid><memory>1</memory></domain>`],
      ["empty", ""],
      ["no XML", "}{"],
    ])("a file that is %s is present, named in one warning, and breaks no pass", async (_what, xml) => {
      await host.spawn(vm1, SPAWN);
      await lab.files.write(`${hypervisor()}/domains/${foreign}.xml`, xml);
      for (const _pass of [1, 2]) {
        expect(await host.listInstanceUuids()).toEqual([UUID, foreign]);
        expect(await host.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      }
      expect(lab.logs).toMatchObject([{ level: "warn", message: expect.stringContaining(`domains/${foreign}.xml: `) }]);
    });

    test("a file of another name is ignored with one warning", async () => {
      await lab.files.write(`${hypervisor()}/domains/notes.txt`, "hello");
      expect(await host.listInstanceUuids()).toEqual([]);
      expect(await host.listInstanceUuids()).toEqual([]);
      expect(lab.logs).toMatchObject([{ message: expect.stringContaining("notes.txt is not <uuid>.xml") }]);
    });

    test("a state that is none counts as crashed, with one warning", async () => {
      await host.spawn(vm1, SPAWN);
      await lab.files.write(`${hypervisor()}/state/${UUID}`, "exploded");
      expect(await host.powerState(vm1)).toBe(6);
      await host.powerOn(vm1);
      expect(await host.powerState(vm1)).toBe(1);
      expect(lab.logs.filter(({ message }) => message.includes("found exploded"))).toHaveLength(1);
    });

    test("a broken guest of Nova's can be destroyed, or made anew by a hard reboot", async () => {
      await host.spawn(vm1, SPAWN);
      await lab.files.write(`${hypervisor()}/domains/${UUID}.xml`, "");
      await host.reboot(vm1, "HARD");
      expect(await host.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      await lab.files.write(`${hypervisor()}/domains/${UUID}.xml`, "");
      await host.destroy(vm1, DESTROY);
      expect(await host.listInstanceUuids()).toEqual([]);
    });
  });

  test("several agents on one hypervisor see each other's guests at once", async () => {
    const other = await lab.connect();
    await Promise.all([host.spawn(vm1, SPAWN), other.spawn(vm2, SPAWN)]);
    expect(await host.listInstanceUuids()).toEqual([UUID, OTHER_UUID]);
    await other.powerOff(vm1);
    expect(await host.powerState(vm1)).toBe(4);
    await host.destroy(vm2, DESTROY);
    expect(await other.listInstanceUuids()).toEqual([UUID]);
    expect(await other.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
  });

  test("two agents that use a new hypervisor at the same time agree on its name", async () => {
    const config = { connectionUri: `fake-libvirt://${lab.folder}/hypervisors/new` };
    const hosts = await Promise.all(["a", "b", "c"].map((name) => lab.connect(config, { host: name })));
    const names = await Promise.all(hosts.map(async (each) => (await each.getAvailableNodes())[0]));
    expect(new Set(names).size).toBe(1);
  });
});

const failingWrites = ({ files }: Lab): Lab["files"] => ({
  read: (path) => files.read(path),
  readIfPresent: (path) => files.readIfPresent(path),
  write: async (path, text) => {
    if (path.includes("/domains/")) throw new Error("no space left");
    await files.write(path, text);
  },
  create: (path, text) => files.create(path, text),
  append: (path, text) => files.append(path, text),
  truncate: (path, bytes) => files.truncate(path, bytes),
  rename: (from, to) => files.rename(from, to),
  remove: (path) => files.remove(path),
  makeFolder: (path) => files.makeFolder(path),
  list: (path) => files.list(path),
  stat: (path) => files.stat(path),
  watch: (folder, listener) => files.watch(folder, listener),
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
