import type { Instance } from "./types.js";

/** A file of a config drive, with its path on the drive. */
export interface ConfigDriveFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/**
 * Returns the content of OpenStack's `meta_data.json`, for config drives and for bare-metal services that build one. It does
 * not list injected files.
 */
export function configDriveMetadata(instance: Instance): Readonly<Record<string, unknown>> {
  const { keyName, keyData } = instance;
  return {
    uuid: instance.uuid,
    name: instance.displayName,
    hostname: instance.hostname,
    project_id: instance.projectId,
    launch_index: instance.launchIndex,
    availability_zone: instance.availabilityZone,
    meta: instance.metadata,
    ...(keyName === null || keyData === null
      ? {}
      : { public_keys: { [keyName]: keyData }, keys: [{ name: keyName, type: "ssh", data: keyData }] }),
  };
}

/** Returns the files of the instance's config drive, as cloud-init reads them: metadata, user data, and injected files. */
export function configDriveFiles(instance: Instance): readonly ConfigDriveFile[] {
  const { userData, injectedFiles } = instance;
  const contents = injectedFiles.map(({ path, contents: encoded }, index) => ({
    listed: { path, content_path: `/content/${String(index).padStart(4, "0")}` },
    bytes: Buffer.from(encoded, "base64"),
  }));
  const files = contents.length === 0 ? {} : { files: contents.map(({ listed }) => listed) };
  const metadata = JSON.stringify({ ...configDriveMetadata(instance), ...files });
  return [
    { path: "openstack/latest/meta_data.json", bytes: Buffer.from(metadata) },
    ...(userData === null ? [] : [{ path: "openstack/latest/user_data", bytes: Buffer.from(userData, "base64") }]),
    ...contents.map(({ listed, bytes }) => ({ path: `openstack${listed.content_path}`, bytes })),
  ];
}
