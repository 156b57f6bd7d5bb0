import type {
  DestroyOptions,
  FinishMigrationOptions,
  FinishRevertOptions,
  GuestVolume,
  Instance,
  Migration,
  PowerOnOptions,
  PreLiveMigrationOptions,
  RescueOptions,
  SpawnOptions,
} from "../../../../src/virt/index.js";
import { POWER_STATES } from "../../../../src/virt/index.js";
import { Complaint, type Flaw, type Flaws, type Right } from "./flaw.js";

/** Removes the volumes that the guest has, as a driver that defines it again without them. */
async function forget(right: Right, instance: Instance): Promise<void> {
  for (const { volumeId } of await right.listVolumes(instance)) {
    await right.detachVolume(instance, { volumeId } as GuestVolume);
  }
}

/** Plugs volumes only into guests in another state. */
function fussy(state: number): Flaw {
  return (right) => ({
    attachVolume: async (instance: Instance, volume: GuestVolume) => {
      if ((await right.getInfo(instance)).state === state) {
        throw new Complaint(`the guest is in state ${state}`);
      }
      await right.attachVolume(instance, volume);
    },
  });
}

const withoutVolumes = <T extends SpawnOptions | FinishMigrationOptions | FinishRevertOptions>(options: T): T => ({
  ...options,
  blockDevices: { ...options.blockDevices, volumes: [] },
});

/** Flaws of section 8.16. */
export const VOLUME_FLAWS: Flaws = {
  "volume-connector": (_, { random }) => ({
    getVolumeConnector: async () => ({ host: "check-host-1", initiator: random.hex(8) }),
  }),
  "volume-spawn": (right) => ({
    spawn: (instance: Instance, options: SpawnOptions) => right.spawn(instance, withoutVolumes(options)),
  }),
  "volume-plug-running": fussy(POWER_STATES.running),
  "volume-plug-paused": fussy(POWER_STATES.paused),
  "volume-plug-suspended": fussy(POWER_STATES.suspended),
  "volume-plug-shutdown": fussy(POWER_STATES.shutdown),
  "volume-attach-again": (right) => ({
    attachVolume: async (instance: Instance, volume: GuestVolume) => {
      if ((await right.listVolumes(instance)).some(({ volumeId }) => volumeId === volume.volumeId)) {
        throw new Complaint("the guest has it");
      }
      await right.attachVolume(instance, volume);
    },
  }),
  "volume-detach-again": (right) => ({
    detachVolume: async (instance: Instance, volume: GuestVolume) => {
      if (!(await right.listVolumes(instance)).some(({ volumeId }) => volumeId === volume.volumeId)) {
        throw new Complaint("the guest does not have it");
      }
      await right.detachVolume(instance, volume);
    },
  }),
  "volume-absent-guest": (right) => ({
    attachVolume: (instance: Instance, volume: GuestVolume) => right.attachVolume(instance, volume).catch(() => {}),
  }),
  "volume-destroy": (right) => {
    const left = new Map<string, readonly GuestVolume[]>();
    return {
      destroy: async (instance: Instance, options: DestroyOptions) => {
        left.set(instance.uuid, options.blockDevices.volumes);
        await right.destroy(instance, options);
      },
      spawn: async (instance: Instance, options: SpawnOptions) => {
        await right.spawn(instance, options);
        for (const volume of left.get(instance.uuid) ?? []) {
          await right.attachVolume(instance, volume);
        }
      },
    };
  },
  "volume-swap": (right) => ({
    swapVolume: (instance: Instance, volumes: { readonly new: GuestVolume }) =>
      right.attachVolume(instance, volumes.new),
  }),
  "volume-extend": (right) => ({
    extendVolume: (instance: Instance, volume: GuestVolume) => right.detachVolume(instance, volume),
  }),
  "volume-reboot": (right) => ({
    reboot: async (instance: Instance, type: "SOFT" | "HARD", options?: PowerOnOptions) => {
      await right.reboot(instance, type, options);
      await forget(right, instance);
    },
  }),
  "volume-reboot-absent": (right) => ({
    reboot: (instance: Instance, type: "SOFT" | "HARD") => right.reboot(instance, type),
  }),
  "volume-stop": (right) => ({
    powerOn: async (instance: Instance) => {
      await right.powerOn(instance);
      await forget(right, instance);
    },
  }),
  "volume-rescue": (right) => ({
    rescue: async (instance: Instance, options: RescueOptions) => {
      await forget(right, instance);
      await right.rescue(instance, options);
    },
  }),
  "volume-restart": (right) => {
    const attached = new Map<string, { readonly volumeId: string; readonly deviceName: string }[]>();
    return {
      attachVolume: async ({ uuid }: Instance, { volumeId, deviceName }: GuestVolume) =>
        void attached.set(uuid, [...(attached.get(uuid) ?? []), { volumeId, deviceName }]),
      listVolumes: async (instance: Instance) => [
        ...(await right.listVolumes(instance)),
        ...(attached.get(instance.uuid) ?? []),
      ],
    };
  },
  "volume-cold-migration": (right) => ({
    finishMigration: (migration: Migration, instance: Instance, disks: string, options: FinishMigrationOptions) =>
      right.finishMigration(migration, instance, disks, withoutVolumes(options)),
  }),
  "volume-revert": (right) => ({
    finishRevertMigration: (instance: Instance, options: FinishRevertOptions) =>
      right.finishRevertMigration(instance, withoutVolumes(options)),
  }),
  "volume-live-migration": (right) => ({
    postLiveMigrationAtDestination: async (instance: Instance, options: PreLiveMigrationOptions) => {
      await right.postLiveMigrationAtDestination(instance, options);
      await forget(right, instance);
    },
  }),
};
