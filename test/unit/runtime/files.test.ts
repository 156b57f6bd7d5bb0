import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Files } from "../../../src/runtime/files.js";
import { bytesIn } from "../../../src/runtime/http.js";
import { type Bench, benches } from "./both-runtimes.js";

describe.each(benches)("files (%s)", (_name, openBench) => {
  let bench: Bench;
  let files: Files;
  let folder: string;

  beforeEach(async () => {
    bench = await openBench();
    files = bench.runtime.files;
    folder = bench.folder;
  });

  afterEach(() => bench.dispose());

  it("write, replace and read files, creating folders and setting the mode", async () => {
    const path = `${folder}/a/b/file`;
    await files.write(path, "eins ß", { mode: 0o600 });
    expect(await files.read(path)).toBe("eins ß");
    expect(await files.stat(path)).toMatchObject({ kind: "file", bytes: 7, mode: 0o600 });
    await files.write(path, "two");
    expect(await files.read(path)).toBe("two");
    expect(await files.list(`${folder}/a/b`)).toEqual(["file"]);
    expect(await files.list(`${folder}/a`)).toEqual(["b"]);
    expect(await files.stat(`${folder}/a`)).toMatchObject({ kind: "folder" });
  });

  it("write under a name without readers, to be renamed", async () => {
    const [waiting, path] = [`${folder}/waiting/file`, `${folder}/file`];
    await expect(files.write(waiting, "x", { unseen: true })).rejects.toMatchObject({ code: "ENOENT" });
    await files.makeFolder(`${folder}/waiting`);
    await files.write(waiting, "what a dead writer left", { unseen: true });
    await files.write(waiting, "eins ß", { mode: 0o600, unseen: true });
    expect(await files.list(`${folder}/waiting`)).toEqual(["file"]);
    await files.rename(waiting, path);
    expect(await files.read(path)).toBe("eins ß");
    await expect(files.write(`${path}/below`, "x", { unseen: true })).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it("create the same folders concurrently, as agents that start at the same time do", async () => {
    const rounds = Array.from({ length: 20 }, (_, round) => `${folder}/round${round}/agents`);
    for (const above of rounds) {
      await Promise.all(Array.from({ length: 8 }, (_, host) => files.makeFolder(`${above}/host${host}`)));
      expect(await files.list(above)).toHaveLength(8);
    }
  });

  it("distinguish missing files from unreadable ones", async () => {
    await expect(files.read(`${folder}/none`)).rejects.toMatchObject({ name: "FileFailure", code: "ENOENT" });
    expect(await files.readIfPresent(`${folder}/none`)).toBeUndefined();
    expect(await files.stat(`${folder}/none`)).toBeUndefined();
    expect(await files.list(`${folder}/none`)).toEqual([]);
    await expect(files.read(folder)).rejects.toMatchObject({ code: "EISDIR", path: folder });
    await files.write(`${folder}/file`, "x");
    expect(await files.stat(`${folder}/file/below`)).toBeUndefined();
    await expect(files.write(`${folder}/file/below`, "x")).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it("write byte streams completely or not at all, and read them back", async () => {
    const path = `${folder}/images/one`;
    const raw = Uint8Array.from({ length: 10_000 }, (_, at) => at % 256);
    async function* streamBytes(breaks = false): AsyncGenerator<Uint8Array> {
      yield raw.subarray(0, 7000);
      if (breaks) {
        throw new Error("it broke off");
      }
      yield raw.subarray(7000);
    }
    await expect(files.writeBytes(path, streamBytes(true))).rejects.toThrow("it broke off");
    expect(await files.list(`${folder}/images`)).toEqual([]);
    expect(await files.writeBytes(path, streamBytes(), { mode: 0o600 })).toBe(10_000);
    expect(await files.stat(path)).toMatchObject({ bytes: 10_000, mode: 0o600 });
    expect(Buffer.from(await bytesIn(await files.readBytes(path))).equals(Buffer.from(raw))).toBe(true);
    await expect(files.writeBytes(path, streamBytes(true))).rejects.toThrow("it broke off");
    expect(await files.stat(path)).toMatchObject({ bytes: 10_000 });
    await expect(
      files.writeBytes(path, streamBytes(), { signal: AbortSignal.abort(new Error("no more")) }),
    ).rejects.toThrow("no more");
    await files.write(path, "text");
    expect(Buffer.from(await bytesIn(await files.readBytes(path))).toString()).toBe("text");
    await expect(files.readBytes(`${folder}/none`)).rejects.toMatchObject({ name: "FileFailure", code: "ENOENT" });
  });

  it("create a file only if it does not exist", async () => {
    await files.create(`${folder}/new/once`, "first");
    await expect(files.create(`${folder}/new/once`, "second")).rejects.toMatchObject({ code: "EEXIST" });
    expect(await files.read(`${folder}/new/once`)).toBe("first");
  });

  it("let one of several concurrent creators succeed", async () => {
    const tries = [1, 2, 3, 4].map((creator) =>
      files.create(`${folder}/race`, String(creator)).then(
        () => "won",
        () => "lost",
      ),
    );
    expect((await Promise.all(tries)).sort()).toEqual(["lost", "lost", "lost", "won"]);
  });

  it("append, grow sparsely and shrink", async () => {
    const path = `${folder}/disk`;
    await files.append(path, "ab");
    await files.append(path, "cd");
    expect(await files.read(path)).toBe("abcd");
    await files.truncate(path, 10 * 1024 * 1024);
    expect(await files.stat(path)).toMatchObject({ bytes: 10 * 1024 * 1024 });
    await files.truncate(path, 6);
    expect(await files.read(path)).toBe("abcd\0\0");
    await files.truncate(path, 2);
    expect(await files.read(path)).toBe("ab");
    await files.truncate(`${folder}/made/disk`, 5);
    expect(await files.stat(`${folder}/made/disk`)).toMatchObject({ bytes: 5 });
  });

  it("grow a sparse file beyond the size of any string, and retain its beginning", async () => {
    const path = `${folder}/disk`;
    const gib = 1024 ** 3;
    await files.write(path, "begin");
    await files.truncate(path, 20 * gib);
    await files.truncate(path, 40 * gib);
    expect(await files.stat(path)).toMatchObject({ bytes: 40 * gib });
    await expect(files.read(path)).rejects.toMatchObject({ name: "FileFailure" });
    await files.truncate(path, 5);
    expect(await files.read(path)).toBe("begin");
  });

  it("rename files over files, rename folders, and remove existing and missing paths", async () => {
    await files.write(`${folder}/a/x`, "a");
    await files.write(`${folder}/b`, "b");
    await files.rename(`${folder}/a/x`, `${folder}/b`);
    expect(await files.read(`${folder}/b`)).toBe("a");
    await files.write(`${folder}/a/y/z`, "deep");
    await files.rename(`${folder}/a`, `${folder}/c`);
    expect(await files.read(`${folder}/c/y/z`)).toBe("deep");
    await expect(files.rename(`${folder}/a`, `${folder}/d`)).rejects.toMatchObject({ code: "ENOENT" });
    await files.remove(`${folder}/c`);
    await files.remove(`${folder}/c`);
    expect(await files.list(folder)).toEqual(["b"]);
  });

  it("create folders, also existing ones", async () => {
    await files.makeFolder(`${folder}/x/y`, { mode: 0o700 });
    await files.makeFolder(`${folder}/x/y`);
    expect(await files.stat(`${folder}/x/y`)).toMatchObject({ kind: "folder", mode: 0o700 });
  });

  it("report changes in a folder until watching is stopped", async () => {
    await files.makeFolder(`${folder}/watched`);
    let notifyChange = () => {};
    let count = 0;
    const stop = files.watch(`${folder}/watched`, (names) => {
      expect(names).toEqual(["guest"]);
      count += 1;
      notifyChange();
    });
    const change = async (work: () => Promise<void>) => {
      const changeObserved = new Promise<void>((resolve) => {
        notifyChange = resolve;
      });
      await work();
      await bench.run(changeObserved);
    };
    await change(() => files.write(`${folder}/watched/guest`, "1"));
    await change(() => files.remove(`${folder}/watched/guest`));
    stop();
    const before = count;
    await files.write(`${folder}/watched/other`, "2");
    await bench.run(bench.runtime.timers.sleep(30));
    expect(count).toBe(before);
  });

  it("cannot watch a missing folder", () => {
    expect(() => files.watch(`${folder}/none`, () => {})).toThrow("watch");
  });
});
