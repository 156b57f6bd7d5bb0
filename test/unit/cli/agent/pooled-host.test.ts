import { expect, test } from "vitest";
import { PooledHost } from "../../../../src/cli/agent/hosts.js";

/** Creates a host whose runs the test controls. */
function begin(kill: () => Promise<void>) {
  const instances: { serve: () => void; end: (error?: Error) => void }[] = [];
  const states: string[] = [];
  const host = new PooledHost("n1", {
    createRun: (_host, onServing) => ({
      run: () =>
        new Promise((resolve, reject) => {
          instances.push({ serve: onServing, end: (error) => (error === undefined ? resolve() : reject(error)) });
          onServing();
        }),
      stop: () => instances.at(-1)?.end(),
      kill,
      reset: () => undefined,
    }),
    takeSlot: async () => undefined,
    onState: ({ state }) => states.push(state),
  });
  return { host, instances: instances, states };
}

test("a start waits for pending work of the run before, and can be retried when that takes too long", async () => {
  let busy = true;
  const { host, instances, states } = begin(async () => {
    if (busy) {
      throw new Error("what host n1 had begun to write gave no answer in 30 s");
    }
  });
  await host.start();
  await expect(host.kill()).rejects.toThrow("had begun to write");
  await host.start();
  expect(host.status).toMatchObject({ state: "failed", detail: expect.stringContaining("had begun to write") });
  expect(instances).toHaveLength(1);
  busy = false;
  await host.start();
  expect(states).toEqual(["starting", "serving", "killed", "starting", "failed", "starting", "serving"]);
});

test("reports of a run after its end are ignored", async () => {
  const { host, instances, states } = begin(async () => undefined);
  await host.start();
  await host.kill();
  instances[0]?.serve();
  instances[0]?.end(new Error("a dead one fails"));
  await host.start();
  instances[0]?.end();
  await host.stop();
  expect(states).toEqual(["starting", "serving", "killed", "starting", "serving", "stopping", "stopped"]);
  expect(host.status).toMatchObject({ state: "stopped", exitCode: 0 });
});
