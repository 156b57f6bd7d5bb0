import type { DriverHost } from "../../virt/driver-host.js";
import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Instance } from "../../virt/index.js";
import {
  brokenOffEverywhere,
  type ContractCase,
  inSection,
  type KilledWork,
  must,
  mustBe,
  onGuest,
  succeeds,
} from "../contract-case.js";
import { DESTROY, DEVICES, frozen, imageOf } from "../harness-fixtures.js";

/** The call that brings a guest into each state that is neither running nor shut down. */
const STATES: readonly (readonly [DriverMethod, (host: DriverHost, instance: Instance) => Promise<void>])[] = [
  ["pause", (host, instance) => host.pause(instance)],
  ["suspend", (host, instance) => host.suspend(instance)],
  ["rescue", (host, instance) => host.rescue(instance, { ...DEVICES, image: frozen(imageOf()) })],
];

const DESTRUCTION: KilledWork = {
  method: "destroy",
  begin: async (harness) => {
    const on = await harness.connect();
    const instance = await harness.spawned(on);
    return { on, instance, moved: null, work: () => on.host.destroy(instance, DESTROY) };
  },
  look: async (harness, { instance }, killed) => {
    const next = await harness.connect();
    await succeeds(next.host.destroy(instance, DESTROY), "destroy", `succeed ${killed}`);
    await mustBe(next, instance, "absent", "destroy", `that was repeated ${killed}`);
  },
};

/** Section 8.2: destruction of guests. */
export const DESTRUCTION_CASES: readonly ContractCase[] = inSection("8.2", [
  {
    code: "destroy-absent",
    rule: "destroy of a missing guest succeeds",
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "succeed for a missing guest");
    },
  },
  {
    code: "destroy-twice",
    rule: "destroy can be repeated",
    run: onGuest(async (on, instance) => {
      await on.host.destroy(instance, DESTROY);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "succeed when it is repeated");
      await mustBe(on, instance, "absent", "destroy", "when it is done");
    }),
  },
  {
    code: "destroy-stopped",
    rule: "destroy removes a guest that is shut down",
    run: onGuest(async (on, instance) => {
      await on.host.powerOff(instance);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "remove a guest that is shut down");
      await mustBe(on, instance, "absent", "destroy", "that was shut down");
    }),
  },
  {
    code: "destroy-any-state",
    rule: "destroy removes guests that are paused, suspended or rescued, as far as the driver supports these states",
    run: async (harness) => {
      for (const [method, change] of STATES) {
        const on = await harness.connect();
        if (!on.host.supports(method)) {
          continue;
        }
        const instance = await harness.spawned(on);
        await change(on.host, instance);
        await succeeds(on.host.destroy(instance, DESTROY), "destroy", `remove a guest after ${method}`);
        await mustBe(on, instance, "absent", "destroy", `after ${method}`);
      }
    },
  },
  {
    code: "destroy-one",
    rule: "destroy does not affect other guests",
    run: async (harness) => {
      const on = await harness.connect();
      const [survivor, gone] = [await harness.spawned(on), await harness.instance(on)];
      // A host whose nodes take one guest each may have only one node.
      if (gone.node === survivor.node && (await harness.spawn(on, gone).then(() => false, isFull))) {
        return;
      }
      if (gone.node !== survivor.node) {
        await harness.spawn(on, gone);
      }
      await on.host.destroy(gone, DESTROY);
      await mustBe(on, survivor, "running", "destroy", "that was not to be destroyed");
    },
  },
  {
    code: "destroy-broken-off",
    rule: "a destroy that was interrupted anywhere can be repeated by the next driver",
    run: (harness) => brokenOffEverywhere(harness, DESTRUCTION),
    killed: DESTRUCTION,
  },
  {
    code: "destroy-keeps-disks",
    rule: "destroy with destroyDisks false leaves the instance's files, with true it removes them",
    needs: ["instanceOnDisk"],
    run: onGuest(async (on, instance) => {
      if (!(await on.host.instanceOnDisk(instance))) {
        return;
      }
      await on.host.destroy(instance, { ...DEVICES, destroyDisks: false });
      const rule = "keep the files with destroyDisks false";
      must(await on.host.instanceOnDisk(instance), "destroy", rule, "they are gone");
      await on.host.destroy(instance, DESTROY);
      const other = "remove the files with destroyDisks true, although the guest is already gone";
      must(!(await on.host.instanceOnDisk(instance)), "destroy", other, "they are still there");
    }),
  },
  {
    code: "files-are-deleted",
    rule: "deleteInstanceFiles returns true when nothing is left, even the second time",
    needs: ["deleteInstanceFiles"],
    run: onGuest(async (on, instance) => {
      await on.host.destroy(instance, { ...DEVICES, destroyDisks: false });
      must(await on.host.deleteInstanceFiles(instance), "deleteInstanceFiles", "be true when done", "it is false");
      must(
        await on.host.deleteInstanceFiles(instance),
        "deleteInstanceFiles",
        "be true when nothing is left",
        "it is false",
      );
      must(
        !(await on.host.instanceOnDisk(instance)),
        "deleteInstanceFiles",
        "remove the files",
        "they are still there",
      );
    }),
  },
]);

const isFull = (error: unknown): boolean => error instanceof Error && error.name === "ComputeResourcesUnavailable";
