import type {
  DestroyOptions,
  FinishMigrationOptions,
  FinishRevertOptions,
  Instance,
  LiveMigrateData,
  LiveMigrationOptions,
  MigrateDiskOptions,
  Migration,
  PreLiveMigrationOptions,
} from "../../../../src/virt/index.js";
import { Complaint, type Flaw, type Flaws, nothing } from "./flaw.js";

/** The source records the move only in its memory. */
function forgetful(right: Parameters<Flaw>[0]): ReturnType<Flaw> {
  const gone = new Set<string>();
  return {
    migrateDiskAndPowerOff: async (instance: Instance, options: MigrateDiskOptions) => {
      const disks = await right.migrateDiskAndPowerOff(instance, options);
      gone.add(instance.uuid);
      return disks;
    },
    finishRevertMigration: async (instance: Instance, options: FinishRevertOptions) => {
      if (!gone.has(instance.uuid)) {
        throw new Complaint("it was never migrated");
      }
      await right.finishRevertMigration(instance, options);
    },
  };
}

/** Flaws of section 8.3. */
export const MOVE_FLAWS: Flaws = {
  "cold-confirm": () => ({ confirmMigration: nothing }),
  "cold-powered-off": (right) => ({
    finishMigration: (migration: Migration, instance: Instance, disks: string, options: FinishMigrationOptions) =>
      right.finishMigration(migration, instance, disks, { ...options, powerOn: true }),
  }),
  "cold-revert": () => ({ finishRevertMigration: nothing }),
  "cold-revert-powered-off": (right) => ({
    finishRevertMigration: (instance: Instance, options: FinishRevertOptions) =>
      right.finishRevertMigration(instance, { ...options, powerOn: true }),
  }),
  "cold-finish-half-done": (right, { files, host }) => {
    const marker = ({ uuid }: Instance) => `/markers/${host}/${uuid}`;
    return {
      finishMigration: async (
        migration: Migration,
        instance: Instance,
        disks: string,
        options: FinishMigrationOptions,
      ) => {
        await files.write(marker(instance), "finishing");
        await right.finishMigration(migration, instance, disks, options);
        await files.remove(marker(instance));
      },
      destroy: async (instance: Instance, options: DestroyOptions) => {
        if (await files.readIfPresent(marker(instance))) {
          throw new Complaint("it is being made");
        }
        await right.destroy(instance, options);
      },
    };
  },
  "cold-revert-half-done": forgetful,
  "cold-revert-not-begun": forgetful,
  "resize-grows": (right) => ({
    finishMigration: async (
      migration: Migration,
      instance: Instance,
      disks: string,
      options: FinishMigrationOptions,
    ) => {
      if (options.resizeInstance) {
        throw new Complaint("disks cannot grow");
      }
      await right.finishMigration(migration, instance, disks, options);
    },
  }),
  "resize-refused": (right) => ({
    migrateDiskAndPowerOff: async (instance: Instance, options: MigrateDiskOptions) => {
      if (options.flavor.rootGb < instance.rootGb) {
        throw new Complaint("too small");
      }
      return right.migrateDiskAndPowerOff(instance, options);
    },
  }),
  "resize-same-host": (right) => ({
    confirmMigration: (_: Migration, instance: Instance) =>
      right.destroy(instance, {
        network: [],
        blockDevices: { rootDeviceName: "/dev/vda", localDisks: [], volumes: [] },
        destroyDisks: true,
      }),
  }),
  "resize-same-host-revert": (right) => ({
    destroy: (instance: Instance, options: DestroyOptions) =>
      right.destroy(instance, { ...options, destroyDisks: true }),
  }),
  "live-force-complete": (right) => {
    let forced = false;
    return {
      liveMigrationForceComplete: async (instance: Instance) => {
        forced = true;
        await right.liveMigrationForceComplete(instance);
      },
      liveMigration: (instance: Instance, dest: string, options: LiveMigrationOptions) =>
        right.liveMigration(instance, dest, {
          ...options,
          postMethod: async () => {
            await options.postMethod();
            if (forced) {
              await options.postMethod();
            }
          },
        }),
    };
  },
  "live-fails": (right) => ({
    liveMigration: async (instance: Instance, dest: string, options: LiveMigrationOptions) => {
      const failed = () => options.recoverMethod({ status: "failed" });
      await right.liveMigration(instance, dest, { ...options, recoverMethod: failed }).catch(failed);
      await failed();
    },
  }),
  "live-moves": (right) => ({
    liveMigration: (instance: Instance, dest: string, options: LiveMigrationOptions) =>
      right.liveMigration(instance, dest, {
        ...options,
        postMethod: async () => {
          await options.postMethod();
          await options.postMethod();
        },
      }),
  }),
  "live-abort": (right) => ({
    liveMigration: (instance: Instance, dest: string, options: LiveMigrationOptions) =>
      right.liveMigration(instance, dest, {
        ...options,
        recoverMethod: async (outcome) => {
          await options.recoverMethod(outcome);
          await options.postMethod();
        },
      }),
  }),
  "live-abort-back": (right) => {
    const came = new Set<string>();
    return {
      preLiveMigration: (instance: Instance, options: PreLiveMigrationOptions) => {
        came.add(instance.uuid);
        return right.preLiveMigration(instance, options);
      },
      liveMigrationAbort: async (instance: Instance) => {
        await right.liveMigrationAbort(instance);
        if (came.has(instance.uuid)) {
          await right.powerOff(instance);
        }
      },
    };
  },
  "live-abort-nothing": () => ({ liveMigrationAbort: () => Promise.reject(new Complaint("nothing to stop")) }),
  "live-killed": () => ({ liveMigrationAbort: nothing }),
  "live-rollback": (right) => {
    let rolled = false;
    return {
      rollbackLiveMigrationAtDestination: async (
        ...args: Parameters<typeof right.rollbackLiveMigrationAtDestination>
      ) => {
        if (rolled) {
          throw new Complaint("rolled back already");
        }
        rolled = true;
        await right.rollbackLiveMigrationAtDestination(...args);
      },
    };
  },
  "live-check-absent": () => ({ checkCanLiveMigrateSource: async (_: Instance, data: LiveMigrateData) => data }),
  "live-cleanup-running": (right) => ({
    cleanup: (...args: Parameters<typeof right.destroy>) => right.destroy(...args),
  }),
};
