import type { BlockDevice, Instance } from "../../../records/index.js";
import { GuestNotFound } from "../../../virt/errors.js";
import { ignore } from "../../ignore-errors.js";
import { toGuestVolume } from "../../volumes/block-device-info.js";
import type { AdmittedFlow, Call, OperationServices } from "../flow/contract.js";
import { attempt, mustNotUndo, recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { followGuest, runSteps, stepList } from "../flow/step-list.js";

interface Detachment {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly device: BlockDevice;
}

/** Each step may be repeated. */
const STEPS = stepList<Detachment>("detach_volume", {
  unplug: async ({ services, instance, device }) => {
    try {
      await services.driver.detachVolume(instance, toGuestVolume(device)).catch(ignore(GuestNotFound));
    } catch (error) {
      if (!mustNotUndo(error)) {
        await rollBack(services, instance, device);
      }
      throw error;
    }
  },
  release: async ({ services, device: { attachmentId } }) => {
    if (attachmentId !== null) {
      await services.volumes.service.deleteAttachment(attachmentId);
    }
  },
  forget: async ({ services, device: { uuid } }) => {
    await services.conductor.call("block_device_destroy", { uuid });
  },
});

/** Spec 6.12 "detach". If the guest does not release the disk, the volume is in use again. */
export const DETACH_VOLUME: AdmittedFlow<"detach_volume"> = {
  steps: [STEPS],
  handOn: followGuest,
  run: async ({ services, request, event }: Call<"detach_volume">, { instance }) => {
    const device = await services.volumes.device(instance, request.blockDeviceUuid);
    await withActionEvent(services, event, () =>
      recordingFault(services, instance.uuid, async () => {
        // A repeated message finds it detached.
        if (device !== undefined) {
          await detachVolume(services, instance, device);
        }
      }),
    );
  },
};

/** Detaches a volume. May be repeated after a kill. @throws the failed step's error */
export async function detachVolume(
  services: OperationServices,
  instance: Instance,
  device: BlockDevice,
): Promise<void> {
  await runSteps(services, STEPS, { services, instance, device });
}

async function rollBack(services: OperationServices, { uuid }: Instance, { volumeId }: BlockDevice): Promise<void> {
  if (volumeId !== null) {
    await attempt(services, uuid, `set volume ${volumeId} to in-use again`, () =>
      services.volumes.service.rollDetaching(volumeId),
    );
  }
}
