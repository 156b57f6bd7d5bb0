import { expect, test } from "vitest";
import { Hosts } from "../../../../src/cli/agent/hosts.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a limited number of hosts start concurrently; the next one starts when one of them serves or has failed", async () => {
  const begun: string[] = [];
  const serve = new Map<string, () => void>();
  const fail = new Map<string, (error: Error) => void>();
  const hosts = new Hosts({
    starting: 2,
    timers: { after: () => () => {} } as never,
    onState: () => {},
    createRun: (host, onServing) => ({
      run: () => {
        begun.push(host);
        serve.set(host, onServing);
        return new Promise((_, reject) => fail.set(host, reject));
      },
      stop: () => {},
      kill: async () => {},
      reset: () => {},
    }),
  });
  const added = hosts.add(["a", "b", "c", "d"]);
  await turn();
  expect(begun).toEqual(["a", "b"]);
  serve.get("b")?.();
  await turn();
  expect(begun).toEqual(["a", "b", "c"]);
  fail.get("a")?.(new Error("broken"));
  await turn();
  expect(begun).toEqual(["a", "b", "c", "d"]);
  serve.get("c")?.();
  serve.get("d")?.();
  await added;
  expect(hosts.statuses.map(({ state }) => state)).toEqual(["failed", "serving", "serving", "serving"]);
});
