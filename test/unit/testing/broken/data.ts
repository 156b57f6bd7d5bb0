import {
  bytesOf,
  type DriverContext,
  type Instance,
  type LiveMigrationOptions,
  type Migration,
  type SnapshotOptions,
  type SpawnOptions,
} from "../../../../src/virt/index.js";
import type { Flaw, Flaws, Right } from "./flaw.js";

type Member = "disk" | "memory";
type OfInstance = "powerOn" | "unpause" | "resume" | "unrescue" | "finishRevertMigration";

async function wipe({ files, config, host }: DriverContext, uuid: string, member: Member): Promise<void> {
  const path = `${config.folder}/${host}/${uuid}`;
  const found = JSON.parse(await files.read(path)) as object;
  await files.write(path, JSON.stringify({ ...found, [member]: "" }));
}

/** Leaves the guest in the right state, but without some of its data. */
function wiping(method: OfInstance, member: Member): Flaw {
  return (right, context) => ({
    [method]: async (...args: Parameters<Right[typeof method]>) => {
      await Reflect.apply(right[method], right, args);
      await wipe(context, args[0].uuid, member);
    },
  });
}

function restart(member: Member): Flaw {
  return (right, context) => ({
    cleanupHost: async () => {
      for (const uuid of await right.listInstanceUuids()) {
        await wipe(context, uuid, member);
      }
    },
  });
}

/** Creates empty disks on the destination. */
const blankDisks: Flaw = (right) => ({
  finishMigration: (migration: Migration, instance: Instance, _: string, options: SpawnOptions) =>
    right.finishMigration(migration, instance, JSON.stringify({ disk: "", memory: "" }), {
      ...options,
      resizeInstance: false,
    }),
});

function copiesNothing(member: Member): Flaw {
  return (right, context) => ({
    liveMigration: async (instance: Instance, destination: string, options: LiveMigrationOptions) => {
      await wipe(context, instance.uuid, member);
      await right.liveMigration(instance, destination, options);
    },
  });
}

const emptySnapshot: Flaw = (right) => ({
  snapshot: async (instance: Instance, imageId: string, { upload, ...options }: SnapshotOptions) => {
    await right.snapshot(instance, imageId, { ...options, upload: () => upload(bytesOf("")) });
  },
});

/** Flaws of section 8.12, in an otherwise correct driver. */
export const DATA_FLAWS: Flaws = {
  "disk-reboot": (right, context) => ({
    reboot: async (instance: Instance, type: "SOFT" | "HARD") => {
      await right.reboot(instance, type);
      await wipe(context, instance.uuid, "disk");
    },
  }),
  "disk-stop": wiping("powerOn", "disk"),
  "disk-pause": wiping("unpause", "disk"),
  "memory-pause": wiping("unpause", "memory"),
  "disk-suspend": wiping("resume", "disk"),
  "memory-suspend": wiping("resume", "memory"),
  "disk-rescue": wiping("unrescue", "disk"),
  "disk-restart": restart("disk"),
  "memory-restart": restart("memory"),
  "disk-snapshot": emptySnapshot,
  "disk-shelve": emptySnapshot,
  "disk-cold-migration": blankDisks,
  "disk-resize": blankDisks,
  "disk-resize-away": blankDisks,
  "disk-revert": wiping("finishRevertMigration", "disk"),
  "disk-live-migration": copiesNothing("disk"),
  "memory-live-migration": copiesNothing("memory"),
};
