import type { BlockDevice, Instance } from "../../../records/index.js";
import { toGuestVolume } from "../../volumes/block-device-info.js";
import type { AdmittedFlow, Call, OperationServices, RequestOf } from "../flow/contract.js";
import { attempt, mustNotUndo, recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { followGuest, runSteps, stepList } from "../flow/step-list.js";

interface Swap {
  readonly services: OperationServices;
  readonly request: RequestOf<"swap_volume">;
  readonly instance: Instance;
  readonly device: BlockDevice;
  /** The device with the new volume; not saved until the guest has it. */
  replacement: BlockDevice;
}

/** The record names the old volume until the guest has the new one. */
const STEPS = stepList<Swap>("swap_volume", {
  connect: async (swap) => {
    const { services, request, instance, device } = swap;
    const { service } = services.volumes;
    const { newVolumeId: volumeId, newAttachmentId: attachmentId } = request;
    const { size, isMultiattach } = await service.getVolume(volumeId);
    const connector = await services.volumes.connector(instance, device.deviceName);
    const { connectionInfo } = await service.updateAttachment(attachmentId, connector);
    const shared = isMultiattach ? { multiattach: true } : {};
    const volumeSize = Math.max(size, device.volumeSize ?? 0);
    swap.replacement = {
      ...device,
      volumeId,
      attachmentId,
      volumeSize,
      connectionInfo: { ...connectionInfo, ...shared },
    };
  },
  copy: ({ services, instance, device, replacement }) =>
    services.driver.swapVolume(instance, { old: toGuestVolume(device), new: toGuestVolume(replacement) }),
  complete: async ({ services, request }) => {
    await services.volumes.service.completeAttachment(request.newAttachmentId);
  },
  record: async ({ services, device, replacement }) => {
    const { volumeId, attachmentId, volumeSize, connectionInfo } = replacement;
    await services.volumes.save(device, { volumeId, attachmentId, volumeSize, connectionInfo });
  },
  release: async ({ services, device: { attachmentId } }) => {
    if (attachmentId !== null) {
      await services.volumes.service.deleteAttachment(attachmentId);
    }
  },
});

/** Spec 6.12 "swap". After a failure the guest has the old volume, and the new one is available again. */
export const SWAP_VOLUME: AdmittedFlow<"swap_volume"> = {
  steps: [STEPS],
  handOn: followGuest,
  run: async ({ services, request, event }: Call<"swap_volume">, { instance }) => {
    const device = await services.volumes.device(instance, request.blockDeviceUuid);
    if (device === undefined) {
      services.logger.warn("the block device whose volume is to be replaced is gone", { instance: instance.uuid });
      return;
    }
    const swap: Swap = { services, request, instance, device, replacement: device };
    await withActionEvent(services, event, () =>
      recordingFault(services, instance.uuid, async () => {
        try {
          await runSteps(services, STEPS, swap);
        } catch (error) {
          if (!mustNotUndo(error)) {
            await undoSwap(swap);
          }
          throw error;
        }
      }),
    );
  },
};

/** Leaves a swap whose record names the new volume already. */
async function undoSwap({ services, request, instance, device, replacement }: Swap): Promise<void> {
  const { driver, volumes } = services;
  await attempt(services, instance.uuid, `take back the swap of volume ${device.volumeId}`, async () => {
    const now = await volumes.device(instance, device.uuid);
    if (now?.volumeId !== device.volumeId) {
      return;
    }
    if (replacement !== device) {
      await driver.swapVolume(instance, { old: toGuestVolume(replacement), new: toGuestVolume(device) });
    }
    await volumes.service.deleteAttachment(request.newAttachmentId);
    if (device.volumeId !== null) {
      await volumes.service.rollDetaching(device.volumeId);
    }
  });
}
