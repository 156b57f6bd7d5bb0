import { expect, it } from "vitest";
import { Flushes } from "../../../../src/runtime/node/synchronous-files.js";

function begin() {
  const flushedFiles: number[] = [];
  const flushes = new Flushes((file, done) => {
    flushedFiles.push(file);
    done(file < 0 ? new Error("EBADF") : null);
  });
  return { flushedFiles: flushedFiles, flushes };
}

it("dispatches the files of one tick as a batch, and those of a later one separately", async () => {
  const { flushedFiles, flushes } = begin();
  const both = [flushes.flush(1), flushes.flush(2)];
  expect(flushedFiles).toEqual([]);
  await Promise.all(both);
  await flushes.flush(3);
  expect(flushedFiles).toEqual([1, 2, 3]);
});

it("fails only for the file that cannot be flushed", async () => {
  const { flushes } = begin();
  const done = await Promise.allSettled([flushes.flush(-1), flushes.flush(1)]);
  expect(done).toMatchObject([{ status: "rejected", reason: { message: "EBADF" } }, { status: "fulfilled" }]);
});
