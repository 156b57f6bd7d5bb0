import { expect, it } from "vitest";
import { untilReady } from "../../../../src/cli/cluster/until-ready.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

/** Starts a wait for hosts. `toReport` lists the hosts without a heartbeat. */
function begin(hosts: readonly string[], toReport: string[]) {
  const runtime = createVirtualRuntime();
  const progress: (readonly string[])[] = [];
  let polls = 0;
  const hostsToReport = async () => {
    polls += 1;
    return [...toReport];
  };
  const done = untilReady(hosts, { hostsToReport, runtime, onProgress: (waiting) => progress.push(waiting) });
  return { runtime, done, progress: progress, polls: () => polls };
}

it("a wait for hosts ends at once when each has reported, with one request for any number of hosts", async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `h${index}`);
  const { done, progress, polls } = begin(many, ["another"]);
  expect(await done).toEqual([]);
  expect([progress, polls()]).toEqual([[], 1]);
});

it("a wait for hosts is displayed after a second, and ends with the last heartbeat", async () => {
  const toReport = ["a", "b"];
  const { runtime, done, progress } = begin(["a", "b", "c"], toReport);
  await runtime.advance(900);
  expect(progress).toEqual([]);
  toReport.shift();
  await runtime.advance(600);
  expect(progress.at(-1)).toEqual(["b"]);
  toReport.shift();
  await runtime.advance(200);
  expect(await done).toEqual([]);
});

it("a wait for hosts names those that have sent no heartbeat for a minute", async () => {
  const { runtime, done } = begin(["a", "b"], ["b"]);
  await runtime.advance(61_000);
  expect(await done).toEqual(["b"]);
});
