import { isConductorError } from "../../../conductor-client/errors.js";
import type { BlockDevice, Instance } from "../../../records/index.js";
import { GuestNotFound, NotImplemented } from "../../../virt/errors.js";
import { ignore } from "../../ignore-errors.js";
import { toGuestVolume } from "../../volumes/block-device-info.js";
import type { AdmittedFlow, Call, OperationServices } from "../flow/contract.js";
import { attempt, mustNotUndo, recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { followGuest, runSteps, stepList } from "../flow/step-list.js";

interface Attachment {
  readonly services: OperationServices;
  readonly instance: Instance;
  /** As last saved. */
  device: BlockDevice;
}

/** The volume is in use only after the guest has it. Each step may be repeated. */
const STEPS = stepList<Attachment>("attach_volume", {
  connect: async (attachment) => {
    const { services, instance, device } = attachment;
    attachment.device = await services.volumes.connectVolume(instance, device, { completes: false });
  },
  plug: ({ services, instance, device }) => services.driver.attachVolume(instance, toGuestVolume(device)),
  complete: async ({ services, device }) => {
    await services.volumes.service.completeAttachment(device.attachmentId ?? "");
  },
});

/** Spec 6.12 "attach". After a failure, device and attachment are gone, and the volume is available again. */
export const ATTACH_VOLUME: AdmittedFlow<"attach_volume"> = {
  steps: [STEPS],
  handOn: followGuest,
  run: async ({ services, request, event }: Call<"attach_volume">, { instance }) => {
    const device = await services.volumes.device(instance, request.blockDeviceUuid);
    if (device === undefined) {
      services.logger.warn("the block device to be attached is gone", { instance: instance.uuid });
      return;
    }
    await withActionEvent(services, event, () =>
      recordingFault(services, instance.uuid, () => attachVolume(services, instance, device)),
    );
  },
};

/** Attaches a volume, or takes everything back. May be repeated after a kill. @throws the failed step's error */
export async function attachVolume(
  services: OperationServices,
  instance: Instance,
  device: BlockDevice,
): Promise<void> {
  const attachment: Attachment = { services, instance, device };
  try {
    await runSteps(services, STEPS, attachment);
  } catch (error) {
    if (!mustNotUndo(error) && !isConductorError(error, "InstanceNotFound")) {
      await undoAttachment(attachment);
    }
    throw error;
  }
}

/** A disk that the guest does not release keeps its record and its attachment: the next start tries again. */
async function undoAttachment({ services, instance, device }: Attachment): Promise<void> {
  const { driver, conductor, volumes } = services;
  await attempt(services, instance.uuid, `take back the attachment of volume ${device.volumeId}`, async () => {
    await driver.detachVolume(instance, toGuestVolume(device)).catch(ignore([NotImplemented, GuestNotFound]));
    if (device.attachmentId !== null) {
      await volumes.service.deleteAttachment(device.attachmentId);
    }
    await conductor.call("block_device_destroy", { uuid: device.uuid });
  });
}
