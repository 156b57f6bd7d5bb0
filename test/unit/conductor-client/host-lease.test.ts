import { expect, it } from "vitest";
import { ConductorError } from "../../../src/conductor-client/errors.js";
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
      throw new ConductorError("HostLeaseHeld", "h1 is held", { ...holder });
    }
  });
  return deadBoots;
}

it("takes over at once the lease of an earlier run of this process, with the same pid", async () => {
  expect(await acquired(HELD)).toEqual([undefined, "before"]);
});

it("does not take over the lease of another live connection of the same process", async () => {
  await expect(acquired({ ...HELD, connected: true, freeIn: null })).rejects.toThrow("h1 is held");
});
