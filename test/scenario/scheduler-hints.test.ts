import { expect, test } from "vitest";
import { ConductorBench } from "../unit/control-plane/conductor/tasks/bench.js";

const ON = new Set(["SameHostFilter", "DifferentHostFilter"] as const);

async function bench(filters: ReadonlySet<never> | typeof ON) {
  const conductorBench = await ConductorBench.open({ filters });
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    await conductorBench.host(host);
  }
  return conductorBench;
}

const sentTo = ({ casts }: ConductorBench) => casts.map(({ host }) => host);

test("6.1 row 2 same_host and different_host, where their filters are on", async () => {
  const on = await bench(ON);
  const [first, second] = [await on.server("devstack1"), await on.server("devstack2")];
  on.request({ schedulerHints: { same_host: [second.uuid] } });
  await on.run();
  on.request({ schedulerHints: { different_host: [first.uuid, second.uuid] } });
  await on.run();
  expect(sentTo(on)).toEqual(["devstack2", "devstack3"]);
  const nowhere = on.request({ schedulerHints: { same_host: ["gone"] } });
  await on.run();
  expect(on.instance(nowhere).vmState).toBe("error");
  on.request({ schedulerHints: { different_host: ["gone"], same_host: [] } });
  await on.run();
  expect(sentTo(on)).toHaveLength(3);
});

test("6.1 row 2 hints say nothing to filters that are off", async () => {
  const off = await bench(new Set());
  const { uuid } = await off.server("devstack1");
  for (let count = 0; count < 6; count += 1) {
    off.request({ schedulerHints: { same_host: [uuid] } });
  }
  await off.run();
  expect(new Set(sentTo(off)).size).toBe(3);
});
