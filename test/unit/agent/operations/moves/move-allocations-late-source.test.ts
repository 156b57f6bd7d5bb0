import { expect, test } from "vitest";
import { finishSource } from "../../../../../src/agent/operations/flow/move-allocations.js";
import type { Instance, Migration } from "../../../../../src/records/index.js";
import { D, I, S, twoHosts } from "../../../placement-client/two-hosts.js";
import {
  type Case,
  CONTEXT,
  endedMove,
  type Held,
  hold as holdOn,
  NEW,
  NEW_AMOUNTS,
  OLD,
  OLD_AMOUNTS,
  SUM,
} from "../../support/ended-move.js";

const hosts = twoHosts();
const setUp = (options?: Case) => endedMove(hosts, options);
const hold = (consumer: string, held: Held) => holdOn(hosts, consumer, held);

const TWICE = { VCPU: 2, MEMORY_MB: 1024, DISK_GB: 2 };
const BACK = { id: 8, status: "completed", migrationType: "live-migration", destCompute: "devstack1" } as const;
const AT_REST = { host: "devstack1", taskState: null, flavor: OLD, oldFlavor: null, newFlavor: null } as const;
const FINISHED = { ...BACK, migrationType: "resize", status: "finished", sourceCompute: "devstack2" } as const;

test.each<[string, Held, Partial<Migration>, Partial<Instance>, Held]>([
  ["that is at rest there lets go of it", { [S]: TWICE }, BACK, AT_REST, { [S]: OLD_AMOUNTS }],
  ["keeps what it needs, where the half has gone", { [S]: OLD_AMOUNTS }, BACK, AT_REST, { [S]: OLD_AMOUNTS }],
  [
    "that waits for its confirmation there keeps the half of its new source",
    { [S]: SUM, [D]: OLD_AMOUNTS },
    FINISHED,
    { ...AT_REST, vmState: "resized", flavor: NEW, oldFlavor: OLD, newFlavor: NEW },
    { [S]: NEW_AMOUNTS, [D]: OLD_AMOUNTS },
  ],
  [
    "that is asked for something keeps all",
    { [S]: TWICE },
    BACK,
    { ...AT_REST, taskState: "resize_prep" },
    { [S]: TWICE },
  ],
  ["with another move under way keeps all", { [S]: TWICE }, { ...BACK, status: "running" }, AT_REST, { [S]: TWICE }],
  [
    "that no later move has brought there keeps all",
    { [S]: TWICE },
    { ...BACK, status: "error" },
    AT_REST,
    { [S]: TWICE },
  ],
])("the source's half, late: an instance that has come back %s", async (_, held, other, stored, after) => {
  await hold(I, held);
  const { services, move } = setUp({ instance: { ...AT_REST, ...stored }, others: [other] });
  await finishSource(services, move, { ...CONTEXT, repeated: true });
  expect(await hosts.held(I)).toEqual(after);
});

test("the source's half, late: a claim that comes between the look and the write is left, with all else", async () => {
  await hold(I, { [S]: TWICE });
  const { services, move } = setUp({ instance: AT_REST, others: [BACK] });
  const claimed = { VCPU: 3, MEMORY_MB: 1536, DISK_GB: 3 };
  const ask = services.conductor.call.bind(services.conductor);
  let looked = false;
  services.conductor.call = async (method, ...rest) => {
    if (method === "migrations_by_filters" && !looked) {
      looked = true;
      await hold(I, { [S]: claimed });
    }
    return ask(method, ...rest);
  };
  await finishSource(services, move, { ...CONTEXT, repeated: true });
  expect(await hosts.held(I)).toEqual({ [S]: claimed });
});
