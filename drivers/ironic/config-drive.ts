import { BuildAbortException, configDriveMetadata, type Instance } from "../../src/virt/index.js";
import { atLeast, CONFIG_DRIVE_OBJECTS } from "./client/api-version.js";

/**
 * The instance's config drive as Ironic makes an image of: an object instead of the image itself, which needs no tool on
 * this host. Undefined: the instance has none.
 * @throws {BuildAbortException} Ironic is too old for it, or such an object cannot hold what the instance is to have.
 */
export function configDrive(instance: Instance, version: string): unknown {
  if (!instance.configDrive) {
    return undefined;
  }
  if (!atLeast(version, CONFIG_DRIVE_OBJECTS)) {
    throw new BuildAbortException(
      `instance ${instance.uuid} wants a config drive, for which Ironic must offer API version ${CONFIG_DRIVE_OBJECTS}, but it offers ${version}`,
    );
  }
  if (instance.injectedFiles.length > 0) {
    throw new BuildAbortException(
      `instance ${instance.uuid} wants ${instance.injectedFiles.length} files (personality) on its config drive, but Ironic makes config drives of metadata and user data only; give them in user data (write_files of cloud-init)`,
    );
  }
  return {
    meta_data: configDriveMetadata(instance),
    ...(instance.userData === null ? {} : { user_data: userDataOf(instance.userData) }),
  };
}

/** Stored in base64. */
const userDataOf = (encoded: string): string => Buffer.from(encoded, "base64").toString("utf8");
