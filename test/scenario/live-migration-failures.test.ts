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
import type { Lab } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

async function ended(move: LiveMove): Promise<void> {
  await move.lab.world.runUntil(() => ["completed", "failed", "cancelled", "error"].includes(statusOf(move) ?? ""));
  await move.lab.world.advance(5_000);
}

const onSource = { host: "devstack1", vmState: "active", taskState: null };
const message = (lab: Lab) => lab.store.instances.fault(VM)?.message;

describe("6.5 failures", () => {
  scenario("6.5 row 6 the destination cannot make ready: rolled back, failed, cleaned there, a fault", async (lab) => {
    await new LiveHypervisors(lab).start();
    lab.hypervisor("devstack2").failures.set("preLiveMigration", () => new Error("no space"));
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("failed");
    expect(lab.instance(VM)).toMatchObject(onSource);
    expect(await heldBy(move)).toEqual(stayed(move));
    expect(message(lab)).toContain("pre_live_migration");
    expect(lab.hypervisor("devstack2").calls.map(({ method }) => method)).toContain(
      "rollbackLiveMigrationAtDestination",
    );
  });

  scenario("6.5 row 6 the destination is away: failed, and it cleans up when it is back", async (lab) => {
    const live = new LiveHypervisors(lab);
    const { destination } = await live.start();
    const move = await chosen(lab);
    lab.hypervisor("devstack2").disks.add(VM);
    lab.kill(destination);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("failed");
    expect(lab.instance(VM)).toMatchObject(onSource);
    expect(await heldBy(move)).toEqual(stayed(move));
    await lab.start("devstack2", live.options("devstack2"));
    await lab.world.advance(5_000);
    expect(lab.hypervisor("devstack2").disks.has(VM)).toBe(false);
  });

  scenario("4.10 left_guests, 6.5 OPT the destination cannot clean up: it does so later", async (lab) => {
    const live = new LiveHypervisors(lab);
    await live.start({ config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
    const { failures, disks } = lab.hypervisor("devstack2");
    failures.set("preLiveMigration", () => new Error("no space"));
    failures.set("rollbackLiveMigrationAtDestination", () => new Error("busy"));
    const move = await chosen(lab);
    disks.add(VM);
    castLive(move);
    await ended(move);
    await lab.world.advance(120_000);
    expect(disks.has(VM)).toBe(true);
    failures.clear();
    await lab.world.advance(120_000);
    expect(disks.has(VM)).toBe(false);
    expect(lab.instance(VM)).toMatchObject(onSource);
  });

  scenario(
    "4.10 left_guests, 6.5 row 9 OPT the source cannot remove what the guest left: it does so later",
    async (lab) => {
      const live = new LiveHypervisors(lab);
      await live.start({ config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
      const { failures, calls } = lab.hypervisor("devstack1");
      failures.set("cleanup", () => new Error("busy"));
      const move = await chosen(lab);
      castLive(move);
      await ended(move);
      expect(statusOf(move)).toBe("completed");
      failures.clear();
      calls.length = 0;
      await lab.world.advance(120_000);
      expect(calls.filter(({ method }) => method === "cleanup")).toHaveLength(1);
    },
  );

  for (const ending of ["raises", "says nothing"] as const) {
    scenario(
      `6.5 row 7 the driver ${ending}: status error, vm error, the guest on S with its allocation`,
      async (lab) => {
        const live = new LiveHypervisors(lab);
        live.plan.ending = ending;
        await live.start();
        const move = await chosen(lab);
        castLive(move);
        await ended(move);
        expect(statusOf(move)).toBe("error");
        expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
        expect(await heldBy(move)).toEqual(stayed(move));
        expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(true);
      },
    );
  }

  scenario("6.5 row 7 upstream: status error, vm error, nothing is rolled back", async (lab) => {
    const live = new LiveHypervisors(lab);
    live.plan.ending = "raises";
    await live.start({ config: { quirks: ["leave-interrupted-live-migration-allocations"] } });
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    expect(await heldBy(move)).toEqual({
      instance: { [move.d.uuid]: AMOUNTS },
      migration: { [move.s.uuid]: AMOUNTS },
    });
  });

  scenario("6.5 row 7 the driver raises when the guest has gone: finished forward", async (lab) => {
    const live = new LiveHypervisors(lab);
    live.plan.ending = "raises when moved";
    await live.start();
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("8.3 a driver that calls back twice: the first counts", async (lab) => {
    const live = new LiveHypervisors(lab);
    live.plan.ending = "says it twice";
    await live.start();
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(lab.hypervisor("devstack1").calls.map(({ method }) => method)).not.toContain(
      "rollbackLiveMigrationAtSource",
    );
  });

  scenario("6.5 row 8 the destination's driver fails: host D, vm error, status error, M kept", async (lab) => {
    await new LiveHypervisors(lab).start();
    lab.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => new Error("no definition"));
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({
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
    expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(0);
    expect(message(lab)).toContain("post_live_migration_at_destination");
  });

  scenario("6.5 row 8 the destination dies when it has written: the source goes on", async (lab) => {
    const live = new LiveHypervisors(lab);
    const { destination } = await live.start();
    const move = await chosen(lab);
    lab.afterCall = (host, method) => {
      if (host === "devstack2" && method === "save_together") {
        lab.kill(destination);
      }
    };
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("6.5 row 9 Placement refuses to let go of M: status error, vm error, M leaks", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    lab.afterPlacement = (_, request) => {
      // Somebody else writes the consumer between the client's reading and writing.
      if (lab.instance(VM).host === "devstack2" && request === `GET /allocations/${move.migration.uuid}`) {
        void lab.hold(move.migration.uuid, { [move.s.uuid]: AMOUNTS });
      }
    };
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
    expect((await heldBy(move)).migration).toEqual({ [move.s.uuid]: AMOUNTS });
  });

  scenario("6.5 row 9 OPT Placement refuses to let go of M, of a server that is being deleted by then", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    lab.afterPlacement = (_, request) => {
      if (lab.instance(VM).host === "devstack2" && request === `GET /allocations/${move.migration.uuid}`) {
        lab.store.instances.save(VM, { vmState: "deleted", taskState: null });
        void lab.hold(move.migration.uuid, { [move.s.uuid]: AMOUNTS });
      }
    };
    castLive(move);
    await ended(move);
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "deleted", taskState: null });
  });

  scenario("6.5 Abort, too late: a fault, and nothing else", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    castLive(move);
    await ended(move);
    castAbort(move);
    await lab.world.advance(1_000);
    expect(statusOf(move)).toBe("completed");
    expect(message(lab)).toContain("completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("6.5 Abort while it is prepared: cancelled when the destination has answered", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    lab.hypervisor("devstack2").failures.set("preLiveMigration", () => {
      castAbort(move);
      return undefined;
    });
    castLive(move);
    await ended(move);
    expect(["cancelled", "completed"]).toContain(statusOf(move));
    expect(statusOf(move)).toBe("cancelled");
    expect(lab.instance(VM)).toMatchObject(onSource);
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario("8.3 the driver cannot abort: a fault, and the migration goes on", async (lab) => {
    await new LiveHypervisors(lab).start();
    lab.hypervisor("devstack1").failures.set("liveMigrationAbort", () => new NotImplemented("no liveMigrationAbort"));
    const move = await chosen(lab);
    castLive(move);
    await reached(move, "running");
    castAbort(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(message(lab)).toContain("liveMigrationAbort");
  });

  scenario("6.5 Force-complete: only while running", async (lab) => {
    const live = new LiveHypervisors(lab);
    live.plan.seconds = 3_000;
    await live.start();
    const move = await chosen(lab);
    const force = () => {
      const params = { instanceUuid: VM, migrationId: move.migration.id, requestId: REQUEST };
      lab.controlPlane.conductor.bus.cast("devstack1", "live_migration_force_complete", params, REQUEST);
    };
    force();
    await lab.world.advance(1_000);
    expect(message(lab)).toContain("accepted");
    castLive(move);
    await reached(move, "running");
    await lab.world.advance(1_000);
    force();
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(lab.world.now).toBeLessThan(Date.UTC(2026, 0, 1, 0, 10));
  });

  scenario("8.5 postcopy_started: running (post-copy), which cannot be aborted", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    castLive(move);
    await reached(move, "running");
    await lab.world.advance(500);
    lab.hypervisor("devstack1").emit(VM, "postcopy_started");
    await reached(move, "running (post-copy)");
    castAbort(move);
    await ended(move);
    expect(statusOf(move)).toBe("completed");
    expect(message(lab)).toContain("post-copy");
  });
});

describe("6.5 the instance is deleted meanwhile", () => {
  const destroy = (lab: Lab) => {
    lab.store.instances.save(VM, { taskState: "deleting" });
    const host = lab.instance(VM).host ?? "";
    const params = { instanceUuid: VM, requestId: "req-delete" };
    lab.controlPlane.conductor.bus.cast(host, "terminate_instance", params, "req-delete");
  };
  const gone = async (move: LiveMove) => {
    const { lab } = move;
    await lab.world.runUntil(() => lab.instance(VM).deleted !== 0);
    await lab.world.advance(5_000);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    for (const host of ["devstack1", "devstack2"]) {
      expect(lab.hypervisor(host).guests.has(VM), host).toBe(false);
      expect(lab.hypervisor(host).disks.has(VM), host).toBe(false);
    }
  };

  for (const status of ["queued", "preparing", "running"]) {
    scenario(`6.5 deleted while ${status}: nothing is left on either side`, async (lab) => {
      await new LiveHypervisors(lab).start();
      const move = await chosen(lab);
      castLive(move);
      await reached(move, status);
      destroy(lab);
      await gone(move);
    });
  }

  scenario("6.5 deleted when the guest has moved, before D has written: deleted on D", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    lab.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => {
      destroy(lab);
      return undefined;
    });
    castLive(move);
    await gone(move);
    expect(lab.instance(VM).host).toBe("devstack2");
  });

  const softDelete = (lab: Lab) => {
    lab.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
    const host = lab.instance(VM).host ?? "";
    const params = { instanceUuid: VM, requestId: "req-delete" };
    lab.controlPlane.conductor.bus.cast(host, "soft_delete_instance", params, "req-delete");
  };
  const softDeleted = async ({ lab }: LiveMove, host: string) => {
    await lab.world.runUntil(() => lab.instance(VM).vmState === "soft-delete");
    expect(lab.instance(VM)).toMatchObject({ host, taskState: null, powerState: 4 });
    expect(lab.store.instances.fault(VM)).toBeNull();
  };

  scenario("6.2 soft-deleted while the guest is copied: the copy is stopped first", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    castLive(move);
    await reached(move, "running");
    softDelete(lab);
    await softDeleted(move, "devstack1");
    expect(statusOf(move)).toBe("cancelled");
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario("6.2 soft-deleted when the guest has moved, before D has written: soft-deleted on D", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    lab.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", () => {
      softDelete(lab);
      return undefined;
    });
    castLive(move);
    await softDeleted(move, "devstack2");
    await reached(move, "completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("6.2 deleted by the API, as the host seemed down, while the guest moves: nothing is left", async (lab) => {
    await new LiveHypervisors(lab).start();
    const move = await chosen(lab);
    castLive(move);
    await reached(move, "running");
    await lab.hold(VM, {});
    lab.store.instances.destroy(VM);
    await ended(move);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
  });
});
