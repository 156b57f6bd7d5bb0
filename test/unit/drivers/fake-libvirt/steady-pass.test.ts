import { basename } from "node:path";
import { expect, test } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { Virsh } from "../../../../drivers/fake-libvirt/virsh.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { Files, LifecycleEvent } from "../../../../src/virt/index.js";
import { contextOf, instanceOf, UUID } from "../../virt/fixtures.js";
import { createRealHarness, SPAWN } from "./fixtures.js";

const uuidOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

test("a steady pass reads no XML; a changed file is read once, even with an old modification time", async () => {
  const runtime = createVirtualRuntime();
  const reads: string[] = [];
  const counting: Files = new Proxy(runtime.files, {
    get: (files, name: keyof Files) => {
      if (name === "readIfPresent") {
        return (path: string) => {
          if (path.endsWith(".xml")) {
            reads.push(path);
          }
          return files.readIfPresent(path);
        };
      }
      return files[name].bind(files);
    },
  });
  const config = { connectionUri: "fake-libvirt:///h" };
  const host = await createDriverHost(definition, contextOf(runtime, { config, files: counting }));
  await host.initHost();
  for (let number = 1; number <= 10; number += 1) {
    await host.spawn(instanceOf({ id: number, uuid: uuidOf(number) }), SPAWN);
  }
  const pass = async () => {
    reads.length = 0;
    const { vcpusUsed } = await host.getAvailableResource("devstack1");
    return { vcpusUsed, reads: reads.length };
  };
  // The file has just been written, so its time stamp might not reveal another write.
  expect(await pass()).toEqual({ vcpusUsed: 20, reads: 10 });
  const file = `/h/domains/${uuidOf(1)}.xml`;
  const xml = await runtime.files.read(file);
  await runtime.files.write(file, xml.replace('static">2<', 'static">3<'));
  expect(await pass()).toEqual({ vcpusUsed: 21, reads: 10 });
  await runtime.advance(10_000);
  expect(await pass()).toEqual({ vcpusUsed: 21, reads: 10 });
  expect(await pass()).toEqual({ vcpusUsed: 21, reads: 0 });
  await runtime.files.write(file, xml);
  expect(await pass()).toEqual({ vcpusUsed: 20, reads: 1 });
  await host.cleanupHost();
});

test("a steady pass does not read the hypervisor's name; a new name is reported in the next", async () => {
  const runtime = createVirtualRuntime();
  const reads: string[] = [];
  const counting: Files = new Proxy(runtime.files, {
    get: (files, name: keyof Files) => {
      if (name !== "readIfPresent") {
        return files[name].bind(files);
      }
      return (path: string) => {
        reads.push(basename(path));
        return files.readIfPresent(path);
      };
    },
  });
  const config = { connectionUri: "fake-libvirt:///h" };
  const host = await createDriverHost(definition, contextOf(runtime, { config, files: counting }));
  await host.initHost();
  const pass = async () => {
    await runtime.advance(10_000);
    reads.length = 0;
    await host.getAvailableResource("devstack1");
    return reads;
  };
  expect(await pass()).toEqual(["hypervisor.json"]);
  expect(await pass()).toEqual([]);
  const renamed = (await runtime.files.read("/h/hypervisor.json")).replace("devstack1", "renamed");
  await runtime.files.write("/h/hypervisor.json", renamed);
  expect(await pass()).toEqual(["hypervisor.json"]);
  expect(runtime.logs.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/names the hypervisor renamed now, but it was devstack1/),
  );
  await host.cleanupHost();
});

test("the driver reads only the guest that changed, of any number", async () => {
  const runtime = createVirtualRuntime();
  const looked = new Set<string>();
  const watched: Files = new Proxy(runtime.files, {
    get: (files, name: keyof Files) => {
      if (name !== "readIfPresent" && name !== "stat") {
        return files[name].bind(files);
      }
      return (path: string) => {
        looked.add(basename(path));
        return files[name](path);
      };
    },
  });
  const config = { connectionUri: "fake-libvirt:///h", stopEventDelay: 0 };
  const host = await createDriverHost(definition, contextOf(runtime, { config, files: watched }));
  await host.initHost();
  for (let number = 1; number <= 10; number += 1) {
    await host.spawn(instanceOf({ id: number, uuid: uuidOf(number) }), SPAWN);
  }
  const events: LifecycleEvent[] = [];
  host.setLifecycleListener((event) => void events.push(event));
  await runtime.advance(10_000);
  looked.clear();
  await runtime.files.write(`/h/state/${uuidOf(3)}`, "shutoff\n");
  await runtime.advance(1_000);
  expect(events).toMatchObject([{ uuid: uuidOf(3), transition: "stopped" }]);
  expect([...looked].sort()).toEqual([uuidOf(3), `${uuidOf(3)}.xml`]);
  events.length = 0;
  await runtime.files.remove(`/h/domains/${uuidOf(4)}.xml`);
  await runtime.files.write("/h/domains/notes.txt", "what this is, no guest tells");
  await runtime.advance(1_000);
  expect(events).toMatchObject([{ uuid: uuidOf(4), transition: "stopped" }]);
  await host.cleanupHost();
});

test("a start reads each state once; later changes are reported in the next pass", async () => {
  const runtime = createVirtualRuntime();
  const reads: string[] = [];
  const counting: Files = new Proxy(runtime.files, {
    get: (files, name: keyof Files) => {
      if (name === "watch") {
        return () => () => undefined;
      }
      if (name !== "readIfPresent") {
        return files[name].bind(files);
      }
      return (path: string) => {
        reads.push(path);
        return files.readIfPresent(path);
      };
    },
  });
  const config = { connectionUri: "fake-libvirt:///h", stopEventDelay: 0 };
  const before = await createDriverHost(definition, contextOf(runtime, { config }));
  await before.initHost();
  await before.spawn(instanceOf(), SPAWN);
  await before.cleanupHost();
  await runtime.advance(10_000);
  const host = await createDriverHost(definition, contextOf(runtime, { config, files: counting }));
  const events: LifecycleEvent[] = [];
  await host.initHost();
  host.setLifecycleListener((event) => void events.push(event));
  await host.getAvailableResource("devstack1");
  await runtime.advance(1_000);
  expect(reads.filter((path) => path === `/h/state/${UUID}`)).toHaveLength(1);
  await runtime.files.write(`/h/state/${UUID}`, "shutoff\n");
  await host.getAvailableResource("devstack1");
  await runtime.advance(1_000);
  expect(events).toMatchObject([{ uuid: UUID, transition: "stopped" }]);
  await host.cleanupHost();
});

test("on real files a running driver notices a user's changes", async () => {
  const harness = await createRealHarness();
  try {
    const host = await harness.connect({ stopEventDelay: 0 });
    await host.spawn(instanceOf(), SPAWN);
    const lifecycleEvent = new Promise<LifecycleEvent>((resolve) => host.setLifecycleListener(resolve));
    const virsh = new Virsh(`fake-libvirt://${harness.folder}/hypervisors/devstack1`, {
      files: harness.files,
      clock: { now: () => 0, monotonic: () => 0 },
      logger: createVirtualRuntime().logger,
    });
    await virsh.destroy("instance-0000002a");
    expect(await lifecycleEvent).toMatchObject({ uuid: UUID, name: "instance-0000002a", transition: "stopped" });
  } finally {
    await harness.close();
  }
});
