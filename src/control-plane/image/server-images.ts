import { type Instance, imagePropertiesOf } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Credentials } from "../credentials.js";
import { sees } from "./api/policy.js";
import { EMPTY_CONTENT, type Image, isBaseImage, PLAIN, type Rotation } from "./image.js";
import type { ImageStore } from "./image-store.js";

/** The attributes of an image that creating a server needs. */
export interface ServerImage extends Pick<Image, "id" | "status" | "size" | "minDisk" | "minRam"> {
  /** Properties that a server saves of its image. */
  readonly noted: Readonly<Record<string, string>>;
}

interface NewBackup extends Pick<Rotation, "type" | "keep"> {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The Image service's interface for the Compute API. It shares the caller's transaction. */
export class ServerImages {
  readonly #store: ImageStore;
  readonly #random: Random;

  constructor(store: ImageStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** Returns undefined if the caller sees no such image. */
  find(id: string, caller: Credentials): ServerImage | undefined {
    const { table, members } = this.#store;
    const image = table.get(id);
    const isMember = caller.projectId !== null && members.get(id, caller.projectId) !== undefined;
    return image && sees(caller, image, isMember) ? { ...image, noted: notedOf(image) } : undefined;
  }

  /** Creates an image without data, which the agent uploads later. Returns its id. */
  addSnapshot(instance: Instance, name: string, metadata: Readonly<Record<string, string>> = {}): string {
    return this.#add(instance, name, { image_type: "snapshot", ...metadata });
  }

  /**
   * Creates a backup like a snapshot. Once it is uploaded, the oldest backups of its type are removed until `keep` are
   * left.
   */
  addBackup(instance: Instance, name: string, { type, keep, metadata = {} }: NewBackup): string {
    const properties = { image_type: "backup", ...metadata, backup_type: type };
    return this.#add(instance, name, properties, { instanceUuid: instance.uuid, type, keep });
  }

  /** Creates an image without data, whose properties describe the volumes that servers boot from. Returns its id. */
  addVolumeBacked(instance: Instance, name: string, properties: Readonly<Record<string, string>>): string {
    const id = this.#random.uuid();
    const {
      min_ram,
      min_disk,
      disk_format: _disk,
      container_format: _container,
      ...inherited
    } = imagePropertiesOf(instance);
    const { block_device_mapping: _mapping, bdm_v2: _version, root_device_name: _root, ...own } = inherited;
    this.#store.table.add(id, {
      ...PLAIN,
      name,
      visibility: "private",
      owner: instance.projectId,
      diskFormat: "raw",
      containerFormat: "bare",
      minDisk: Number(min_disk) || 0,
      minRam: Number(min_ram) || 0,
      properties: { ...own, base_image_ref: "", owner_id: instance.projectId, ...properties },
    });
    this.#store.table.change(id, ["queued"], { status: "active", ...EMPTY_CONTENT });
    return id;
  }

  /** Removes all backups of a type. */
  removeBackups({ uuid, projectId }: Instance, type: string): void {
    this.#store.rotate(projectId, { instanceUuid: uuid, type, keep: 0 });
  }

  #add(
    instance: Instance,
    name: string,
    properties: Readonly<Record<string, string>>,
    rotation: Rotation | null = null,
  ): string {
    const id = this.#random.uuid();
    const { disk_format, container_format, min_disk: _disk, min_ram, ...inherited } = imagePropertiesOf(instance);
    this.#store.table.add(id, {
      ...PLAIN,
      name,
      visibility: "private",
      owner: instance.projectId,
      diskFormat: disk_format ?? "qcow2",
      containerFormat: container_format ?? "bare",
      minDisk: instance.flavor.rootGb,
      minRam: Number(min_ram) || 0,
      properties: {
        ...inherited,
        base_image_ref: instance.imageRef,
        instance_uuid: instance.uuid,
        user_id: instance.userId,
        owner_id: instance.projectId,
        ...properties,
      },
      rotation,
    });
    return id;
  }

  /** Removes an image, if it exists. */
  remove(id: string): void {
    this.#store.remove(id);
  }
}

function notedOf(image: Image): Readonly<Record<string, string>> {
  if (isBaseImage(image)) {
    return image.properties;
  }
  const { diskFormat, containerFormat, minDisk, minRam } = image;
  return {
    ...image.properties,
    ...(diskFormat === null ? {} : { disk_format: diskFormat }),
    ...(containerFormat === null ? {} : { container_format: containerFormat }),
    min_disk: String(minDisk),
    min_ram: String(minRam),
  };
}
