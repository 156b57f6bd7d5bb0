import { expect, it } from "vitest";
import { HostLeaseHeld } from "../../../src/conductor-client/errors.js";
import { HostLease } from "../../../src/conductor-client/host-lease.js";
import type { LeaseHolder } from "../../../src/conductor-client/methods/session.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

const world = createVirtualRuntime();
const { pid, machine } = world.processes;
const HELD: LeaseHolder = {
  ...{ host: "h1", bootId: "before", pid, machine },
  ...{ seenAgo: 1_000, connected: false, freeIn: 9_000 },
};

/** Acquires the lease, retrying. @returns the boots that it reported as dead */
async function acquired(holder: LeaseHolder): Promise<readonly (string | undefined)[]> {
  const deadBoots: (string | undefined)[] = [];
  await new HostLease("h1", world).acquire(async (dead) => {
    deadBoots.push(dead);
    if (dead !== holder.bootId) {
      throw new HostLeaseHeld("h1 is held", { ...holder });
    }
  });
  return deadBoots;
}

it("takes at once what its own process held in a life before, with which it shares the pid", async () => {
  expect(await acquired(HELD)).toEqual([undefined, "before"]);
});

it("does not take it from another connection of the process that lives", async () => {
  await expect(acquired({ ...HELD, connected: true, freeIn: null })).rejects.toThrow("h1 is held");
});
