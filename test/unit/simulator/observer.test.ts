import { expect, test } from "vitest";
import { VirtualWorld } from "../../../src/simulation/virtual-world.js";
import { createObserverDeps } from "../../simulator/observer.js";

test("who looks on sees files at once, on the slowest disk", async () => {
  const world = new VirtualWorld({ seed: "1", interleave: 200 });
  const runtime = world.spawn({ name: "observer" });
  await world.runUntil(runtime.files.write("/hypervisor/guest.xml", "<domain/>"));
  world.machine.disk.setTrouble("/hypervisor", { full: false, slow: 2000 });
  const { files } = createObserverDeps(runtime, world.machine.disk);
  const began = world.now;
  expect(await files.list("/hypervisor")).toEqual(["guest.xml"]);
  expect(await files.stat("/hypervisor/guest.xml")).toMatchObject({ kind: "file", bytes: 9 });
  expect(await files.readIfPresent("/hypervisor/guest.xml")).toBe("<domain/>");
  expect(await files.readIfPresent("/hypervisor/other.xml")).toBeUndefined();
  expect(world.now).toBe(began);
});
