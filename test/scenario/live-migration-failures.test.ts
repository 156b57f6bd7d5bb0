import { describe, expect } from "vitest";
import { NotImplemented } from "../../src/virt/index.js";
import {
  arrived,
  castAbort,
  castLive,
  chosen,
  heldBy,
  LiveHypervisors,
  type LiveMove,
  REQUEST,
  reached,
  statusOf,
  stayed,
  VM,
} from "../fixtures/live-migrations.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

async function ended(move: LiveMove): Promise<void> {
  await move.harness.world.runUntil(() => ["completed", "failed", "cancelled", "error"].includes(statusOf(move) ?? ""));
  await move.harness.world.advance(5_000);
}

const onSource = { host: "devstack1", vmState: "active", taskState: null };
const message = (harness: Harness) => harness.store.instances.fault(VM)?.message;

describe("6.5 failures", () => {
  scenario(
    "6.5 row 6 the destination cannot make ready: rolled back, failed, cleaned there, a fault",
    async (harness) => {
      await new LiveHypervisors(harness).start();
      harness.hypervisor("devstack2").failures.set("preLiveMigration", () => new Error("no space"));
      const move = await chosen(harness);
      castLive(move);
      await ended(move);
      expect(statusOf(move)).toBe("failed");
      expect(harness.instance(VM)).toMatchObject(onSource);
      expect(await heldBy(move)).toEqual(stayed(move));
      expect(message(harness)).toContain("pre_live_migration");
      expect(harness.hypervisor("devstack2").calls.map(({ method }) => method)).toContain(
        "rollbackLiveMigrationAtDestination",
      );
    },
  );

  scenario("6.5 row 6 the destination is away: failed, and it cleans up when it is back", async (harness) => {
    const live = new LiveHypervisors(harness);
    const { destination } = await live.start();
    const move = await chosen(harness);
    harness.hypervisor("devstack2").disks.add(VM);
    harness.kill(destination);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("failed");
    expect(harness.instance(VM)).toMatchObject(onSource);
    expect(await heldBy(move)).toEqual(stayed(move));
    await harness.start("devstack2", live.options("devstack2"));
    await harness.world.advance(5_000);
    expect(harness.hypervisor("devstack2").disks.has(VM)).toBe(false);
  });

  scenario("4.10 left_guests, 6.5 OPT the destination cannot clean up: it does so later", async (harness) => {
    const live = new LiveHypervisors(harness);
    await live.start({ config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
    const { failures, disks } = harness.hypervisor("devstack2");
    failures.set("preLiveMigration", () => new Error("no space"));
    failures.set("rollbackLiveMigrationAtDestination", () => new Error("busy"));
    const move = await chosen(harness);
    disks.add(VM);
    castLive(move);
    await ended(move);
    await harness.world.advance(120_000);
    expect(disks.has(VM)).toBe(true);
    failures.clear();
    await harness.world.advance(120_000);
    expect(disks.has(VM)).toBe(false);
    expect(harness.instance(VM)).toMatchObject(onSource);
  });

  scenario(
    "4.10 left_guests, 6.5 row 9 OPT the source cannot remove what the guest left: it does so later",
    async (harness) => {
      const live = new LiveHypervisors(harness);
      await live.start({ config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
      const { failures, calls } = harness.hypervisor("devstack1");
      failures.set("cleanup", () => new Error("busy"));
      const move = await chosen(harness);
      castLive(move);
      await ended(move);
      expect(statusOf(move)).toBe("completed");
      failures.clear();
      calls.length = 0;
      await harness.world.advance(120_000);
      expect(calls.filter(({ method }) => method === "cleanup")).toHaveLength(1);
    },
  );

  for (const ending of ["raises", "says nothing"] as const) {
    scenario(
      `6.5 row 7 the driver ${ending}: status error, vm error, the guest on S with its allocation`,
      async (harness) => {
        const live = new LiveHypervisors(harness);
        live.plan.ending = ending;
        await live.start();
        const move = await chosen(harness);
        castLive(move);
        await ended(move);
        expect(statusOf(move)).toBe("error");
        expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
        expect(await heldBy(move)).toEqual(stayed(move));
        expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(true);
      },
    );
  }

  scenario("6.5 row 7 upstream: status error, vm error, nothing is rolled back", async (harness) => {
    const live = new LiveHypervisors(harness);
    live.plan.ending = "raises";
    await live.start({ config: { quirks: ["leave-interrupted-live-migration-allocations"] } });
    const move = await chosen(harness);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    expect(await heldBy(move)).toEqual({
      instance: { [move.d.uuid]: AMOUNTS },
      migration: { [move.s.uuid]: AMOUNTS },
    });
  });

  scenario("6.5 row 7 the driver raises when the guest has gone: finished forward", async (harness) => {
    const live = new LiveHypervisors(harness);
    live.plan.ending = "raises when moved";
    await live.start();
    const move = await chosen(harness);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("8.3 a driver that calls back twice: the first counts", async (harness) => {
    const live = new LiveHypervisors(harness);
    live.plan.ending = "says it twice";
    await live.start();
    const move = await chosen(harness);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(harness.hypervisor("devstack1").calls.map(({ method }) => method)).not.toContain(
      "rollbackLiveMigrationAtSource",
    );
  });

  scenario("6.5 row 8 the destination's driver fails: host D, vm error, status error, M kept", async (harness) => {
    await new LiveHypervisors(harness).start();
    harness.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => new Error("no definition"));
    const move = await chosen(harness);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack2",
      node: "devstack2",
      computeId: move.d.id,
      vmState: "error",
      taskState: null,
    });
    expect(await heldBy(move)).toEqual({
      instance: { [move.d.uuid]: AMOUNTS },
      migration: { [move.s.uuid]: AMOUNTS },
    });
    expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
    expect(message(harness)).toContain("post_live_migration_at_destination");
  });

  scenario("6.5 row 8 the destination dies when it has written: the source goes on", async (harness) => {
    const live = new LiveHypervisors(harness);
    const { destination } = await live.start();
    const move = await chosen(harness);
    harness.afterCall = (host, method) => {
      if (host === "devstack2" && method === "save_together") {
        harness.kill(destination);
      }
    };
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("6.5 row 9 Placement refuses to let go of M: status error, vm error, M leaks", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    harness.afterPlacement = (_, request) => {
      // A concurrent write of the consumer between the client's read and write.
      if (harness.instance(VM).host === "devstack2" && request === `GET /allocations/${move.migration.uuid}`) {
        void harness.hold(move.migration.uuid, { [move.s.uuid]: AMOUNTS });
      }
    };
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
    expect((await heldBy(move)).migration).toEqual({ [move.s.uuid]: AMOUNTS });
  });

  scenario(
    "6.5 row 9 OPT Placement refuses to let go of M, of a server that is being deleted by then",
    async (harness) => {
      await new LiveHypervisors(harness).start();
      const move = await chosen(harness);
      harness.afterPlacement = (_, request) => {
        if (harness.instance(VM).host === "devstack2" && request === `GET /allocations/${move.migration.uuid}`) {
          harness.store.instances.save(VM, { vmState: "deleted", taskState: null });
          void harness.hold(move.migration.uuid, { [move.s.uuid]: AMOUNTS });
        }
      };
      castLive(move);
      await ended(move);
      expect(statusOf(move)).toBe("error");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "deleted", taskState: null });
    },
  );

  scenario("6.5 Abort, too late: a fault, and nothing else", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    castLive(move);
    await ended(move);
    castAbort(move);
    await harness.world.advance(1_000);
    expect(statusOf(move)).toBe("completed");
    expect(message(harness)).toContain("completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("6.5 Abort while it is prepared: cancelled when the destination has answered", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    harness.hypervisor("devstack2").failures.set("preLiveMigration", () => {
      castAbort(move);
      return undefined;
    });
    castLive(move);
    await ended(move);
    expect(["cancelled", "completed"]).toContain(statusOf(move));
    expect(statusOf(move)).toBe("cancelled");
    expect(harness.instance(VM)).toMatchObject(onSource);
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario("8.3 the driver cannot abort: a fault, and the migration goes on", async (harness) => {
    await new LiveHypervisors(harness).start();
    harness
      .hypervisor("devstack1")
      .failures.set("liveMigrationAbort", () => new NotImplemented("no liveMigrationAbort"));
    const move = await chosen(harness);
    castLive(move);
    await reached(move, "running");
    castAbort(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(message(harness)).toContain("liveMigrationAbort");
  });

  scenario("6.5 Force-complete: only while running", async (harness) => {
    const live = new LiveHypervisors(harness);
    live.plan.seconds = 3_000;
    await live.start();
    const move = await chosen(harness);
    const force = () => {
      const params = { instanceUuid: VM, migrationId: move.migration.id, requestId: REQUEST };
      harness.controlPlane.conductor.bus.cast("devstack1", "live_migration_force_complete", params, REQUEST);
    };
    force();
    await harness.world.advance(1_000);
    expect(message(harness)).toContain("accepted");
    castLive(move);
    await reached(move, "running");
    await harness.world.advance(1_000);
    force();
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(harness.world.now).toBeLessThan(Date.UTC(2026, 0, 1, 0, 10));
  });

  scenario("8.5 postcopy_started: running (post-copy), which cannot be aborted", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    castLive(move);
    await reached(move, "running");
    await harness.world.advance(500);
    harness.hypervisor("devstack1").emit(VM, "postcopy_started");
    await reached(move, "running (post-copy)");
    castAbort(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(message(harness)).toContain("post-copy");
  });
});

describe("6.5 the instance is deleted meanwhile", () => {
  const destroy = (harness: Harness) => {
    harness.store.instances.save(VM, { taskState: "deleting" });
    const host = harness.instance(VM).host ?? "";
    const params = { instanceUuid: VM, requestId: "req-delete" };
    harness.controlPlane.conductor.bus.cast(host, "terminate_instance", params, "req-delete");
  };
  const gone = async (move: LiveMove) => {
    const { harness } = move;
    await harness.world.runUntil(() => harness.instance(VM).deleted !== 0);
    await harness.world.advance(5_000);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    for (const host of ["devstack1", "devstack2"]) {
      expect(harness.hypervisor(host).guests.has(VM), host).toBe(false);
      expect(harness.hypervisor(host).disks.has(VM), host).toBe(false);
    }
  };

  for (const status of ["queued", "preparing", "running"]) {
    scenario(`6.5 deleted while ${status}: nothing is left on either side`, async (harness) => {
      await new LiveHypervisors(harness).start();
      const move = await chosen(harness);
      castLive(move);
      await reached(move, status);
      destroy(harness);
      await gone(move);
    });
  }

  scenario("6.5 deleted when the guest has moved, before D has written: deleted on D", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    harness.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => {
      destroy(harness);
      return undefined;
    });
    castLive(move);
    await gone(move);
    expect(harness.instance(VM).host).toBe("devstack2");
  });

  const softDelete = (harness: Harness) => {
    harness.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
    const host = harness.instance(VM).host ?? "";
    const params = { instanceUuid: VM, requestId: "req-delete" };
    harness.controlPlane.conductor.bus.cast(host, "soft_delete_instance", params, "req-delete");
  };
  const softDeleted = async ({ harness }: LiveMove, host: string) => {
    await harness.world.runUntil(() => harness.instance(VM).vmState === "soft-delete");
    expect(harness.instance(VM)).toMatchObject({ host, taskState: null, powerState: 4 });
    expect(harness.store.instances.fault(VM)).toBeNull();
  };

  scenario("6.2 soft-deleted while the guest is copied: the copy is stopped first", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    castLive(move);
    await reached(move, "running");
    softDelete(harness);
    await softDeleted(move, "devstack1");
    expect(statusOf(move)).toBe("cancelled");
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario("6.2 soft-deleted when the guest has moved, before D has written: soft-deleted on D", async (harness) => {
    await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    harness.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => {
      softDelete(harness);
      return undefined;
    });
    castLive(move);
    await softDeleted(move, "devstack2");
    await reached(move, "completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario(
    "6.2 deleted by the API, as the host seemed down, while the guest moves: nothing is left",
    async (harness) => {
      await new LiveHypervisors(harness).start();
      const move = await chosen(harness);
      castLive(move);
      await reached(move, "running");
      await harness.hold(VM, {});
      harness.store.instances.destroy(VM);
      await ended(move);
      expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
      expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
    },
  );
});
