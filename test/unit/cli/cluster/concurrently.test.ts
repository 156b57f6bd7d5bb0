import { expect, test } from "vitest";
import { CoalescedWork } from "../../../../src/cli/cluster/up-hosts.js";

/** Records the batches; each one ends when the test resolves or rejects it. */
function begin() {
  const done: (readonly string[])[] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const batcher = new CoalescedWork<string>((all) => {
    done.push(all);
    return new Promise((resolve, reject) => ends.push({ resolve, reject }));
  });
  return { batcher: batcher, done, ends };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("items that are added during a batch form the next batch", async () => {
  const { batcher, done, ends } = begin();
  const first = [batcher.add("a"), batcher.add("b")];
  await turn();
  const then = [batcher.add("c"), batcher.add("d")];
  await turn();
  expect(done).toEqual([["a", "b"]]);
  ends[0]?.resolve();
  await Promise.all(first);
  await turn();
  expect(done).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
  ends[1]?.resolve();
  await Promise.all(then);
});

test("a batch runs after the one before it has failed", async () => {
  const { batcher, done, ends } = begin();
  const first = batcher.add("a");
  await turn();
  const next = batcher.add("b");
  ends[0]?.reject(new Error("no control plane"));
  await expect(first).rejects.toThrow("no control plane");
  await turn();
  ends[1]?.resolve();
  await next;
  expect(done).toEqual([["a"], ["b"]]);
});
