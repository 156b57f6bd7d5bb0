import { PublicError } from "../../../runtime/error-messages.js";
import { toGuestVolume } from "../../volumes/block-device-info.js";
import type { OperationServices } from "../flow/contract.js";
import { recordingFault, withActionEvent } from "../flow/error-wrappers.js";

/** The external event `volume-extended`. */
export interface VolumeExtension {
  readonly instanceUuid: string;
  readonly requestId: string;
  /** The event's tag. */
  readonly volumeId: string;
}

/** The driver of this host cannot make a guest see the new size of a volume. */
class ExtendVolumeNotSupported extends PublicError {
  override readonly name = "ExtendVolumeNotSupported";
}

/** Spec 6.12 "extend". @throws any error of the driver; the record has the new size */
export async function extendVolume(services: OperationServices, extension: VolumeExtension): Promise<void> {
  const { instanceUuid, requestId, volumeId } = extension;
  const { conductor, driver, host, logger, volumes } = services;
  const event = { instanceUuid, requestId, event: "compute_extend_volume" };
  await withActionEvent(services, event, () =>
    recordingFault(services, instanceUuid, async () => {
      const instance = await conductor.call("instance_get", { uuid: instanceUuid });
      if (instance?.host !== host) {
        return;
      }
      const device = (await volumes.devices(instance)).find((each) => each.volumeId === volumeId);
      if (device === undefined || device.connectionInfo === null) {
        logger.warn(`volume ${volumeId} was extended, but the instance does not have it`, { instance: instanceUuid });
        return;
      }
      const { size } = await volumes.service.getVolume(volumeId);
      const extended = await volumes.save(device, { volumeSize: size });
      if (!driver.capabilities.supportsExtendVolume) {
        throw new ExtendVolumeNotSupported("Volume size extension is not supported by the hypervisor.");
      }
      await driver.extendVolume(instance, toGuestVolume(extended));
    }),
  );
}
