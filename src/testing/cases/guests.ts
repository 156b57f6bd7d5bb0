import { type ContractCase, failsWith, must, succeeds, textOf } from "../contract-case.js";
import type { CheckedHost, DriverLab } from "../driver-lab.js";
import { DEVICES } from "../objects.js";
import { guestOn, mustBe } from "./guest-state.js";

const DESTROY = { ...DEVICES, destroyDisks: true } as const;

/** How many guests are made at the same time. */
const SOME = 4;

const several = (lab: DriverLab, on: CheckedHost) => Promise.all(Array.from({ length: SOME }, () => lab.instance(on)));

/** Section 8.2: how guests come and go. */
export const GUEST_CASES: readonly ContractCase[] = [
  {
    code: "spawn-runs",
    section: "8.2",
    rule: "spawn makes a running guest",
    run: async (lab) => {
      const on = await lab.connect();
      await mustBe(on, await lab.spawned(on), "running", "spawn", "when it is done");
    },
  },
  {
    code: "spawn-powered-off",
    section: "8.2",
    rule: "spawn with powerOn false defines the guest and leaves it shut down",
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.instance(on);
      await lab.spawn(on, instance, { powerOn: false });
      await mustBe(on, instance, "shutdown", "spawn", "with powerOn false");
    },
  },
  {
    code: "spawn-twice",
    section: "8.2",
    rule: "spawn of a guest that is there already harms it not",
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      await lab.spawn(on, instance).catch(() => {});
      await mustBe(on, instance, "running", "spawn", "that was there before a second spawn");
    },
  },
  {
    code: "spawn-all-or-nothing",
    section: "8.2",
    rule: "spawn that breaks off leaves nothing that destroy cannot remove, after which it can be made again",
    run: async (lab) => {
      const on = await lab.connect();
      for (let call = 1; call <= 60; call += 1) {
        const instance = await lab.instance(on);
        on.sabotage.arm(call);
        const failed = await lab.spawn(on, instance).then(
          () => false,
          () => true,
        );
        const { struck } = on.sabotage;
        on.sabotage.disarm();
        const next = await lab.connect();
        const state = await guestOn(next, instance);
        const whole = state === "absent" || state === 1 || state === 4;
        must(
          whole,
          "spawn",
          "leave a complete guest or nothing",
          `broken off at call ${call} it left one in state ${state}`,
        );
        await succeeds(next.host.destroy(instance, DESTROY), "destroy", `remove what a spawn left (call ${call})`);
        await next.host.failedSpawnCleanup(instance);
        await mustBe(next, instance, "absent", "destroy", "of a spawn that broke off");
        if (!(failed && struck)) break;
      }
    },
  },
  {
    code: "spawn-concurrently",
    section: "8.2",
    rule: "guests can be made and destroyed at the same time",
    run: async (lab) => {
      const on = await lab.connect();
      const instances = await several(lab, on);
      const nodes = new Set(instances.map(({ node }) => node));
      // Nodes that take one guest each are not asked for more.
      const own = nodes.size === 1 ? instances : instances.slice(0, nodes.size);
      await succeeds(Promise.all(own.map((each) => lab.spawn(on, each))), "spawn", "work for several guests at once");
      for (const each of own) await mustBe(on, each, "running", "spawn", "beside others");
      await succeeds(
        Promise.all(own.map((each) => on.host.destroy(each, DESTROY))),
        "destroy",
        "work for several guests at once",
      );
      for (const each of own) await mustBe(on, each, "absent", "destroy", "beside others");
    },
  },
  {
    code: "destroy-absent",
    section: "8.2",
    rule: "destroy of a guest that is not there is success",
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.instance(on);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "succeed for a guest that is not there");
    },
  },
  {
    code: "destroy-twice",
    section: "8.2",
    rule: "destroy can be repeated",
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      await on.host.destroy(instance, DESTROY);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "succeed when it is repeated");
      await mustBe(on, instance, "absent", "destroy", "when it is done");
    },
  },
  {
    code: "destroy-stopped",
    section: "8.2",
    rule: "destroy removes a guest that is shut down",
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      await on.host.powerOff(instance);
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "remove a guest that is shut down");
      await mustBe(on, instance, "absent", "destroy", "that was shut down");
    },
  },
  {
    code: "destroy-one",
    section: "8.2",
    rule: "destroy leaves the other guests alone",
    run: async (lab) => {
      const on = await lab.connect();
      const [kept, gone] = [await lab.spawned(on), await lab.instance(on)];
      // A host whose nodes take one guest each may have one node only.
      if (gone.node === kept.node && (await lab.spawn(on, gone).then(() => false, isFull))) return;
      if (gone.node !== kept.node) await lab.spawn(on, gone);
      await on.host.destroy(gone, DESTROY);
      await mustBe(on, kept, "running", "destroy", "that it was not asked to destroy");
    },
  },
  {
    code: "destroy-broken-off",
    section: "8.2",
    rule: "destroy that broke off anywhere can be repeated by the next driver",
    run: async (lab) => {
      const on = await lab.connect();
      for (let call = 1; call <= 60; call += 1) {
        const instance = await lab.spawned(on);
        on.sabotage.arm(call);
        await on.host.destroy(instance, DESTROY).catch(() => {});
        const { struck } = on.sabotage;
        on.sabotage.disarm();
        const next = await lab.connect();
        await succeeds(
          next.host.destroy(instance, DESTROY),
          "destroy",
          `succeed after one that broke off (call ${call})`,
        );
        await mustBe(next, instance, "absent", "destroy", `that was repeated (call ${call})`);
        if (!struck) break;
      }
    },
  },
  {
    code: "destroy-keeps-disks",
    section: "8.2",
    rule: "destroy with destroyDisks false leaves the instance's files, with true it removes them",
    needs: ["instanceOnDisk"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      if (!(await on.host.instanceOnDisk(instance))) return;
      await on.host.destroy(instance, { ...DEVICES, destroyDisks: false });
      const rule = "keep the files with destroyDisks false";
      must(await on.host.instanceOnDisk(instance), "destroy", rule, "they are gone");
      await on.host.destroy(instance, DESTROY);
      const other = "remove the files with destroyDisks true, though the guest is gone already";
      must(!(await on.host.instanceOnDisk(instance)), "destroy", other, "they are still there");
    },
  },
  {
    code: "files-are-deleted",
    section: "8.2",
    rule: "deleteInstanceFiles says true when nothing is left, also the second time",
    needs: ["deleteInstanceFiles"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
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
    },
  },
  {
    code: "prepare-is-undone",
    section: "8.2",
    rule: "failedSpawnCleanup undoes prepareForSpawn, can be repeated, and succeeds when nothing was prepared",
    needs: ["failedSpawnCleanup"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.instance(on);
      const rule = "succeed when nothing was prepared";
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", rule);
      await on.host.prepareForSpawn(instance);
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", "undo prepareForSpawn");
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", "succeed when it is repeated");
      await lab.spawn(on, instance);
      await mustBe(on, instance, "running", "prepareForSpawn", "that was prepared again after a clean-up");
    },
  },
  {
    code: "rebuild-in-place",
    section: "8.2",
    rule: "rebuild makes the guest anew and leaves it running",
    needs: ["rebuild"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      await succeeds(lab.rebuild(on, instance), "rebuild", "make the guest anew");
      await mustBe(on, instance, "running", "rebuild", "when it is done");
    },
  },
  {
    code: "vifs-plug-again",
    section: "8.2",
    rule: "plugVifs and unplugVifs can be repeated",
    needs: ["plugVifs", "unplugVifs"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      await succeeds(on.host.plugVifs(instance), "plugVifs", "succeed for a guest that has its ports");
      await succeeds(on.host.plugVifs(instance), "plugVifs", "succeed when it is repeated");
      await succeeds(on.host.unplugVifs(instance), "unplugVifs", "succeed");
      await succeeds(on.host.unplugVifs(instance), "unplugVifs", "succeed when it is repeated");
    },
  },
  {
    code: "snapshot-stages",
    section: "8.2",
    rule: "snapshot goes through image_pending_upload, then image_uploading, and leaves the guest as it was",
    needs: ["snapshot"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      const stages: string[] = [];
      const updateTaskState = async (stage: string) => void stages.push(stage);
      await on.host.snapshot(instance, "55555555-5555-4555-8555-555555555555", { updateTaskState });
      const rule = "call updateTaskState with image_pending_upload, then image_uploading";
      must(
        stages.join() === "image_pending_upload,image_uploading",
        "snapshot",
        rule,
        `found ${stages.join() || "no call"}`,
      );
      await mustBe(on, instance, "running", "snapshot", "that ran before");
    },
  },
  {
    code: "snapshot-stops",
    section: "8.2",
    rule: "snapshot ends with the error of updateTaskState when its instance is wanted otherwise",
    needs: ["snapshot"],
    run: async (lab) => {
      const on = await lab.connect();
      const instance = await lab.spawned(on);
      const refused = new Error("UnexpectedDeletingTaskState");
      const updateTaskState = () => Promise.reject(refused);
      const outcome = await on.host
        .snapshot(instance, "55555555-5555-4555-8555-555555555555", { updateTaskState })
        .then(
          () => "it succeeded",
          (error: unknown) => (error === refused ? null : `it threw ${textOf(error)}`),
        );
      must(outcome === null, "snapshot", "let the error of updateTaskState pass", outcome ?? "");
    },
  },
  {
    code: "snapshot-absent",
    section: "8.2",
    rule: "snapshot of a guest that is not there throws InstanceNotRunning",
    needs: ["snapshot"],
    run: async (lab) => {
      const on = await lab.connect();
      const work = on.host.snapshot(await lab.instance(on), "55555555-5555-4555-8555-555555555555", {
        updateTaskState: async () => {},
      });
      await failsWith(work, ["InstanceNotRunning"], "snapshot", "for a guest that is not there");
    },
  },
];

const isFull = (error: unknown): boolean => error instanceof Error && error.name === "ComputeResourcesUnavailable";
