import { BuildAbortException, type Instance } from "../../src/virt/index.js";
import { atLeast, CONFIG_DRIVE_OBJECTS } from "./client/api-version.js";

/**
 * The instance's config drive as Ironic makes an image of: an object instead of the image itself, which needs no tool on
 * this host. Undefined: the instance has none.
 * @throws {BuildAbortException} Ironic is too old for it.
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
  return {
    meta_data: {
      uuid: instance.uuid,
      name: instance.displayName,
      hostname: instance.hostname,
      project_id: instance.projectId,
      launch_index: instance.launchIndex,
      availability_zone: instance.availabilityZone,
      meta: instance.metadata,
    },
    ...(instance.userData === null ? {} : { user_data: userDataOf(instance.userData) }),
  };
}

/** Stored in base64. */
const userDataOf = (encoded: string): string => Buffer.from(encoded, "base64").toString("utf8");
