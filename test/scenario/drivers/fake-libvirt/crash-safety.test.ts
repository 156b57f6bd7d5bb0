import { describe, expect, test } from "vitest";
import { DESTROY, HARNESSES, type Harness, SPAWN } from "../../../unit/drivers/fake-libvirt/fixtures.js";
import { instanceOf, UUID } from "../../../unit/virt/fixtures.js";
import { Saboteur } from "./saboteur.js";

const vm = instanceOf({ ephemeralGb: 1 });

const spawn = (host: Awaited<ReturnType<Harness["connect"]>>) => host.spawn(vm, SPAWN);
const destroy = (host: Awaited<ReturnType<Harness["connect"]>>) => host.destroy(vm, DESTROY);

describe.each(HARNESSES)("8.2 on %s", (_, createHarness) => {
  const files = async (harness: Harness) => {
    const there: string[] = [];
    for (const folder of ["domains", "state", "instances", `instances/${UUID}`]) {
      for (const name of await harness.files.list(`${harness.folder}/hypervisors/devstack1/${folder}`)) {
        there.push(name);
      }
    }
    return there;
  };

  /** Whole: it can be read, has its disks, and can be started and destroyed. */
  const expectCompleteOrAbsent = async (harness: Harness) => {
    const host = await harness.connect();
    if (await host.instanceExists(vm)) {
      expect(await host.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      // It appears in the state that was asked for, and vanishes from it.
      expect(await host.powerState(vm)).toBe(1);
      expect(await harness.files.stat(`${harness.folder}/hypervisors/devstack1/instances/${UUID}/disk`)).toBeDefined();
      expect(
        await harness.files.stat(`${harness.folder}/hypervisors/devstack1/instances/${UUID}/disk.eph0`),
      ).toBeDefined();
      await host.powerOn(vm);
    } else {
      // Litter is in nobody's way.
      await host.spawn(vm, SPAWN);
    }
    expect(await host.powerState(vm)).toBe(1);
    await host.destroy(vm, DESTROY);
    expect(await files(harness)).toEqual([]);
  };

  const sabotage = async (step: number, kill: boolean, prepare: typeof spawn | undefined, act: typeof spawn) => {
    const harness = await createHarness();
    try {
      const saboteur = new Saboteur(step, kill);
      const host = await harness.connect({}, { files: saboteur.over(harness.files) });
      await prepare?.(host);
      saboteur.armed = true;
      const failed = await act(host).then(
        () => false,
        () => true,
      );
      if (!kill && failed && act === spawn) {
        expect(await files(harness)).toEqual([]);
      }
      saboteur.armed = false;
      await expectCompleteOrAbsent(harness);
      return { failed, reached: saboteur.calls >= step };
    } finally {
      await harness.close();
    }
  };

  test.each([
    ["spawn", undefined, spawn],
    ["destroy", spawn, destroy],
  ] as const)(
    "an agent killed between any two file operations of a %s leaves a whole guest or none",
    async (_op, prepare, act) => {
      let step = 1;
      let failures = 0;
      for (; ; step += 1) {
        const { failed, reached } = await sabotage(step, true, prepare, act);
        if (failed) {
          failures += 1;
        }
        if (!reached) {
          break;
        }
      }
      expect(failures).toBeGreaterThan(3);
    },
  );

  test("a spawn that fails at any one file operation leaves nothing", async () => {
    for (let step = 1; (await sabotage(step, false, undefined, spawn)).reached; step += 1) {}
  });

  test("a destroy that fails at any one file operation is finished by the next", async () => {
    for (let step = 1; (await sabotage(step, false, spawn, destroy)).reached; step += 1) {}
  });
});
