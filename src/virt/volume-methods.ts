import type { AttachedVolume, CallOptions, GuestVolume, Instance, VolumeConnector } from "./types.js";

/**
 * Methods for the volumes of guests (spec 8.16). All but {@link getVolumeConnector} are called under the instance's lock,
 * and must be safe to repeat after an agent was killed inside them.
 */
export interface VolumeMethods {
  /**
   * Returns this host's side of connections to volumes. Without this method, no server with volumes is built here.
   * @calledBy each build, attachment and move of a server with volumes. No lock.
   */
  getVolumeConnector?(instance: Instance, options?: CallOptions): Promise<VolumeConnector>;
  /**
   * Adds a volume to the guest, whether or not it runs. A volume that the guest already has is success. Without this
   * method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy the API's attachment of a volume. The instance's lock.
   */
  attachVolume?(instance: Instance, volume: GuestVolume, options?: CallOptions): Promise<void>;
  /**
   * Removes a volume from the guest and disconnects the host from it. A missing disk is success. Without this method, the
   * call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @throws {DeviceDetachFailed} the guest did not release the disk.
   * @calledBy the API's detachment of a volume. The instance's lock.
   */
  detachVolume?(instance: Instance, volume: GuestVolume, options?: CallOptions): Promise<void>;
  /**
   * Copies a volume of a running guest to another one, and replaces it. Without this method, the call fails with
   * {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy the API's update of an attachment with another volume. The instance's lock.
   */
  swapVolume?(
    instance: Instance,
    volumes: { readonly old: GuestVolume; readonly new: GuestVolume },
    options?: CallOptions,
  ): Promise<void>;
  /**
   * Makes the guest see the new size of a volume. Without this method, the call fails with {@link NotImplemented}.
   * @param volume with the new size
   * @calledBy the external event volume-extended. The instance's lock.
   */
  extendVolume?(instance: Instance, volume: GuestVolume, options?: CallOptions): Promise<void>;
  /**
   * Returns the volumes that the guest has now, whether or not it runs. Without this method, start-up removes the volume of
   * an interrupted attachment without finding out whether the guest has it.
   * @throws {GuestNotFound}
   * @calledBy start-up, for an attachment or detachment that was interrupted (2.6). The instance's lock.
   */
  listVolumes?(instance: Instance, options?: CallOptions): Promise<readonly AttachedVolume[]>;
}
