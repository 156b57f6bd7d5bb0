import { expect, test } from "vitest";
import { OverlayFiles } from "../../../../src/agent/dry-run/overlay-files.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

async function setUp() {
  const { files } = createVirtualRuntime();
  await files.write("/h/a", "one");
  await files.write("/h/sub/b", "two");
  return { below: files, files: new OverlayFiles(files) };
}

test("what is written is seen, and does not reach the disk", async () => {
  const { below, files } = await setUp();
  await files.write("/h/a", "changed");
  await files.append("/h/a", "!");
  await files.create("/h/new", "new");
  await files.makeFolder("/h/folder");
  await files.rename("/h/sub/b", "/h/moved");
  expect(await files.read("/h/a")).toBe("changed!");
  expect(await files.read("/h/moved")).toBe("two");
  expect(await files.readIfPresent("/h/sub/b")).toBeUndefined();
  expect(await files.list("/h")).toEqual(["a", "moved", "new", "sub"]);
  expect((await files.stat("/h/folder"))?.kind).toBe("folder");
  expect(await below.read("/h/a")).toBe("one");
  expect(await below.list("/h")).toEqual(["a", "sub"]);
  expect(await below.read("/h/sub/b")).toBe("two");
});

test("what is removed is gone, with all that is in it, until it is written again", async () => {
  const { below, files } = await setUp();
  await files.remove("/h/sub");
  expect(await files.list("/h/sub")).toEqual([]);
  expect(await files.stat("/h/sub/b")).toBeUndefined();
  expect(await files.list("/h")).toEqual(["a"]);
  await files.write("/h/sub/c", "three");
  expect(await files.list("/h/sub")).toEqual(["c"]);
  expect(await below.read("/h/sub/b")).toBe("two");
});

test("create refuses what is there, above or below", async () => {
  const { files } = await setUp();
  await expect(files.create("/h/a", "")).rejects.toMatchObject({ code: "EEXIST" });
  await files.create("/h/x", "");
  await expect(files.create("/h/x", "")).rejects.toMatchObject({ code: "EEXIST" });
  await expect(files.read("/h/none")).rejects.toMatchObject({ code: "ENOENT" });
});

test("watch: a folder that was made here only never changes", async () => {
  const { files } = await setUp();
  await files.makeFolder("/h/only-here");
  expect(() => files.watch("/h/only-here", () => {})).not.toThrow();
  expect(() => files.watch("/h/nowhere", () => {})).toThrow("ENOENT");
});
