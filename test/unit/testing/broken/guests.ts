import {
  bytesOf,
  type DestroyOptions,
  type Instance,
  InstanceNotRunning,
  POWER_STATES,
  type SnapshotOptions,
  type SpawnOptions,
  textIn,
} from "../../../../src/virt/index.js";
import { Complaint, type Flaw, type Flaws, nothing, type Right, swallowing } from "./flaw.js";

async function stateOf(right: Right, instance: Instance) {
  return right.getInfo(instance).then(
    ({ state }) => state,
    () => null,
  );
}

/** Throws in a state that the correct driver accepts. */
function fussy(method: "destroy" | "powerOff" | "powerOn", about: number | null): Flaw {
  return (right) => ({
    [method]: async (instance: Instance, options: DestroyOptions) => {
      if ((await stateOf(right, instance)) === about) {
        throw new Complaint(`the guest is in state ${about}`);
      }
      await right[method](instance, options);
    },
  });
}

const marker = (host: string, { uuid }: Instance) => `/markers/${host}/${uuid}`;

/** Flaws of section 8.2, except power. */
export const GUEST_FLAWS: Flaws = {
  "instances-unchanged": (right) => ({
    powerOff: async (instance: Instance) => {
      await right.powerOff(instance);
      Reflect.set(instance, "powerState", POWER_STATES.shutdown);
    },
  }),
  "signal-settles": (right) => ({
    spawn: async (instance: Instance, options: SpawnOptions) => {
      await right.spawn(instance, options).catch(nothing);
      if (options.signal?.aborted) {
        await new Promise(() => {});
      }
    },
  }),
  "spawn-runs": (right) => ({
    spawn: (instance: Instance, options: SpawnOptions) => right.spawn(instance, { ...options, powerOn: false }),
  }),
  "spawn-powered-off": (right) => ({
    spawn: (instance: Instance, options: SpawnOptions) => right.spawn(instance, { ...options, powerOn: true }),
  }),
  "spawn-twice": (right) => {
    const made = new Set<string>();
    return {
      spawn: async (instance: Instance, options: SpawnOptions) => {
        await right.destroy(instance, { ...options, destroyDisks: true });
        if (made.has(instance.uuid)) {
          throw new Complaint("it was there");
        }
        made.add(instance.uuid);
        await right.spawn(instance, options);
      },
    };
  },
  "spawn-all-or-nothing": (right, { files, host }) => ({
    spawn: async (instance: Instance, options: SpawnOptions) => {
      await files.write(marker(host, instance), "spawning");
      await right.spawn(instance, options);
      await files.remove(marker(host, instance));
    },
    destroy: async (instance: Instance, options: DestroyOptions) => {
      if (await files.readIfPresent(marker(host, instance))) {
        throw new Complaint("it is being made");
      }
      await right.destroy(instance, options);
    },
  }),
  "spawn-concurrently": (right) => {
    let busy = false;
    return {
      spawn: async (instance: Instance, options: SpawnOptions) => {
        if (busy) {
          throw new Complaint("one at a time");
        }
        busy = true;
        await right.spawn(instance, options).finally(() => {
          busy = false;
        });
      },
    };
  },
  "destroy-absent": fussy("destroy", null),
  "destroy-twice": fussy("destroy", null),
  "destroy-stopped": fussy("destroy", POWER_STATES.shutdown),
  "destroy-any-state": fussy("destroy", POWER_STATES.paused),
  "destroy-one": (right) => ({
    destroy: async (_: Instance, options: DestroyOptions) => {
      for (const uuid of await right.listInstanceUuids()) {
        await right.destroy({ uuid } as Instance, options);
      }
    },
  }),
  "destroy-broken-off": (right, { files, host }) => ({
    destroy: async (instance: Instance, options: DestroyOptions) => {
      if (await files.readIfPresent(marker(host, instance))) {
        throw new Complaint("it is being destroyed");
      }
      await files.write(marker(host, instance), "destroying");
      await right.destroy(instance, options);
      await files.remove(marker(host, instance));
    },
  }),
  "destroy-keeps-disks": (right) => ({
    destroy: (instance: Instance, options: DestroyOptions) =>
      right.destroy(instance, { ...options, destroyDisks: true }),
  }),
  "files-are-deleted": (right) => ({
    deleteInstanceFiles: async (instance: Instance) => {
      const there = await right.instanceOnDisk(instance);
      await right.deleteInstanceFiles(instance);
      return there;
    },
  }),
  "prepare-is-undone": () => {
    const prepared = new Set<string>();
    return {
      prepareForSpawn: async ({ uuid }: Instance) => void prepared.add(uuid),
      failedSpawnCleanup: async ({ uuid }: Instance) => {
        if (!prepared.delete(uuid)) {
          throw new Complaint("nothing was prepared");
        }
      },
    };
  },
  "rebuild-in-place": (right) => ({ rebuild: (instance: Instance) => right.powerOff(instance) }),
  "vifs-plug-again": () => {
    const plugged = new Set<string>();
    return {
      plugVifs: async ({ uuid }: Instance) => {
        if (plugged.has(uuid)) {
          throw new Complaint("plugged already");
        }
        plugged.add(uuid);
      },
      unplugVifs: nothing,
    };
  },
  "snapshot-stages": () => ({
    snapshot: (_: Instance, __: string, { updateTaskState }: SnapshotOptions) => updateTaskState("image_uploading"),
  }),
  "snapshot-uploads": (right) => ({
    snapshot: (instance: Instance, id: string, options: SnapshotOptions) =>
      right.snapshot(instance, id, { ...options, upload: nothing }),
  }),
  "snapshot-broken-off": (right) => ({
    snapshot: (instance: Instance, id: string, options: SnapshotOptions) =>
      right.snapshot(instance, id, { ...options, upload: swallowing(options.upload) }),
  }),
  "spawn-broken-off": (right) => ({
    spawn: async (instance: Instance, options: SpawnOptions) => {
      await right.spawn(instance, options);
      const data = await options.image.open();
      await textIn(data?.bytes ?? bytesOf("")).catch(() => "a part of it");
    },
  }),
  "snapshot-stops": (right) => ({ snapshot: swallowing(right.snapshot) }),
  "snapshot-absent": (right) => ({
    snapshot: (instance: Instance, id: string, options: SnapshotOptions) =>
      right.snapshot(instance, id, options).catch((error: unknown) => {
        if (!(error instanceof InstanceNotRunning)) {
          throw error;
        }
      }),
  }),
};

type Simple = "pause" | "unpause" | "suspend" | "resume" | "powerOff" | "powerOn";

const kebab = (method: string): string => method.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function ofPower(method: Simple): Flaws {
  return {
    [`${kebab(method)}-state`]: () => ({ [method]: nothing }),
    [`${kebab(method)}-absent`]: (right) => ({ [method]: swallowing(right[method]) }),
  };
}

/** Flaws of section 8.2, power. */
export const POWER_FLAWS: Flaws = {
  ...ofPower("powerOff"),
  ...ofPower("powerOn"),
  ...ofPower("pause"),
  ...ofPower("unpause"),
  ...ofPower("suspend"),
  ...ofPower("resume"),
  "power-off-again": fussy("powerOff", POWER_STATES.shutdown),
  "power-on-again": fussy("powerOn", POWER_STATES.running),
  "power-off-keeps-others": (right) => {
    const off = new Set<string>();
    return {
      powerOff: async ({ uuid }: Instance) => void off.add(uuid),
      getInfo: async (instance: Instance) =>
        off.has(instance.uuid) ? { state: POWER_STATES.shutdown } : right.getInfo(instance),
    };
  },
  "reboot-state": (right) => ({ reboot: (instance: Instance) => right.powerOff(instance) }),
  "reboot-absent": (right) => ({ reboot: swallowing(right.reboot) }),
  "reboot-hard": (right) => ({
    reboot: async (instance: Instance, type: "SOFT" | "HARD") => {
      if ((await stateOf(right, instance)) === POWER_STATES.shutdown) {
        throw new Complaint("it is shut down");
      }
      await right.reboot(instance, type);
    },
  }),
  "reboot-hard-absent": (right) => ({ reboot: (instance: Instance) => right.reboot(instance, "SOFT") }),
  "power-update-event-state": (right) => ({ powerUpdateEvent: (instance: Instance) => right.powerOn(instance) }),
  "power-update-event-absent": () => ({ powerUpdateEvent: nothing }),
  "rescue-state": (right) => ({ rescue: (instance: Instance) => right.powerOff(instance) }),
  "rescue-absent": (right) => ({ rescue: swallowing(right.rescue) }),
  "unrescue-state": (right) => ({ unrescue: (instance: Instance) => right.powerOff(instance) }),
  "unrescue-absent": (right) => ({ unrescue: swallowing(right.unrescue) }),
  "unrescue-not-rescued": () => ({ unrescue: () => Promise.reject(new Complaint("it was not rescued")) }),
  "resume-on-host-boot": () => ({ resumeStateOnHostBoot: nothing }),
};
