import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Fence } from "../../../../drivers/fake-libvirt/fence.js";
import { HypervisorFolder } from "../../../../drivers/fake-libvirt/hypervisor.js";
import { HostEpochOutdated } from "../../../../src/virt/index.js";
import { type Bench, benches } from "../../runtime/both-runtimes.js";

for (const [name, open] of benches) {
  describe(`the fence of a hypervisor (${name})`, () => {
    let bench: Bench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(() => bench.dispose());

    const path = (...parts: readonly string[]) => [bench.folder, ...parts].join("/");
    const fenceOf = (host = "devstack1") => {
      const { files, random } = bench.runtime;
      return new Fence(new HypervisorFolder(bench.folder), { host, files, random });
    };
    const raised = async (epoch: number, host?: string) => {
      const fence = fenceOf(host);
      await bench.run(fence.raise(epoch));
      return fence;
    };
    const getRejection = (work: Promise<void>) =>
      bench.run(
        work.then(
          () => "done",
          (error: unknown) => (error instanceof HostEpochOutdated ? error.message : error),
        ),
      );

    test("an older agent cannot create, change or remove a guest or its disks", async () => {
      const old = await raised(7);
      await bench.run(old.guests.write(path("domains", "one.xml"), "one"));
      await bench.run(old.disks.truncate(path("instances", "one"), 10));
      await raised(12);
      const text =
        `the hypervisor rejects the agent of host devstack1 with epoch 7: its newest epoch is 12 ` +
        `(${path("fences", "devstack1")}), so another agent owns the host now; stop this one`;
      expect(await getRejection(old.guests.write(path("domains", "two.xml"), "two"))).toBe(text);
      expect(await getRejection(old.guests.write(path("domains", "one.xml"), "changed"))).toBe(text);
      expect(await getRejection(old.guests.remove(path("domains", "one.xml")))).toBe(text);
      expect(await getRejection(old.disks.remove(path("instances", "one")))).toBe(text);
      expect(await bench.run(bench.runtime.files.list(path("domains")))).toEqual(["one.xml"]);
      expect(await bench.run(bench.runtime.files.read(path("domains", "one.xml")))).toBe("one");
      expect(await bench.run(bench.runtime.files.list(path("instances")))).toEqual(["one"]);
    });

    test("an older agent cannot raise the fence, and its attempt leaves no file", async () => {
      const present = await raised(12);
      expect(await getRejection(fenceOf().raise(7))).toMatch(/epoch 7: its newest epoch is 12/);
      expect(await bench.run(bench.runtime.files.list(path("fences", "devstack1")))).toEqual(["12"]);
      expect(await getRejection(present.guests.write(path("domains", "one.xml"), "one"))).toBe("done");
    });

    test("unfinished files of an older agent are removed, and its pending renames fail", async () => {
      const old = await raised(7);
      const waits = path("fences", "devstack1", "7", "one.xml-00000000");
      await bench.run(bench.runtime.files.write(waits, "one"));
      await raised(12);
      expect(await bench.run(bench.runtime.files.list(path("fences", "devstack1")))).toEqual(["12"]);
      expect(await bench.run(bench.runtime.files.list(path("fences", "devstack1", "12")))).toEqual([]);
      expect(await getRejection(old.guests.write(path("domains", "one.xml"), "one"))).toMatch(/its newest epoch is 12/);
    });

    test("of agents that raise the fence at the same time, the greatest epoch wins", async () => {
      await raised(7);
      const epochs = [12, 13, 14];
      const raising = Promise.allSettled(epochs.map((epoch) => fenceOf().raise(epoch)));
      expect((await bench.run(raising)).at(-1)).toMatchObject({ status: "fulfilled" });
      expect(await bench.run(bench.runtime.files.list(path("fences", "devstack1")))).toEqual(["14"]);
    });

    test("agents of other hosts on one hypervisor have fences of their own", async () => {
      const one = await raised(12, "../one");
      const two = await raised(7, "two");
      expect(await getRejection(one.guests.write(path("domains", "one.xml"), "one"))).toBe("done");
      expect(await getRejection(two.guests.remove(path("domains", "one.xml")))).toBe("done");
      expect(await bench.run(bench.runtime.files.list(path("fences")))).toEqual(["%2E.%2Fone", "two"]);
    });

    test("the fence creates only its own folder, and nothing without an epoch", async () => {
      const old = await raised(1);
      await bench.run(old.guests.write(path("domains", "one.xml"), "one"));
      await raised(2);
      const present = await raised(3);
      await bench.run(present.guests.remove(path("domains", "one.xml")));
      await bench.run(present.guests.remove(path("domains", "never.xml")));
      expect(await bench.run(bench.runtime.files.list(path("fences", "devstack1", "3")))).toEqual([]);
      const plain = fenceOf();
      await bench.run(plain.guests.write(path("domains", "two.xml"), "two"));
      await bench.run(plain.guests.remove(path("domains", "two.xml")));
      expect(await bench.run(bench.runtime.files.list(path("domains")))).toEqual([]);
    });
  });
}
