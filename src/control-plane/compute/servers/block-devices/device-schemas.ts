import type { Schema } from "../../../http/schemas.js";
import { BOOLEAN, TAG, UUID_TEXT } from "../../api/schema-parts.js";

/** A valid entry of `block_device_mapping`, the former format. Sizes and flags may be strings. */
export interface FormerDevice {
  readonly virtual_name?: string;
  readonly volume_id?: string;
  readonly snapshot_id?: string;
  readonly volume_size?: number | string;
  readonly device_name?: string;
  readonly delete_on_termination?: boolean | string;
  /** Any value but an empty one removes the image's device of that name. */
  readonly no_device?: unknown;
}

/** A valid entry of `block_device_mapping_v2`. */
export interface DeviceRequest extends FormerDevice {
  readonly source_type?: "image" | "volume" | "snapshot" | "blank";
  readonly destination_type?: "local" | "volume";
  readonly uuid?: string;
  readonly image_id?: string;
  readonly guest_format?: string | null;
  readonly device_type?: string | null;
  readonly disk_bus?: string | null;
  readonly boot_index?: number | string | null;
  readonly tag?: string | null;
  readonly volume_type?: string | null;
}

const SHORT_TEXT = { type: "string", maxLength: 255 };

const FORMER: Readonly<Record<string, Schema>> = {
  virtual_name: SHORT_TEXT,
  volume_id: UUID_TEXT,
  snapshot_id: UUID_TEXT,
  volume_size: { type: ["integer", "string"], pattern: "^[0-9]+$", minimum: 1, maximum: 2_147_483_647 },
  device_name: { type: "string", minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9._/-]*$" },
  delete_on_termination: BOOLEAN,
  no_device: {},
  connection_info: { type: "string", maxLength: 16_777_215 },
};

const CURRENT: Readonly<Record<string, Schema>> = {
  ...FORMER,
  source_type: { type: "string", enum: ["volume", "image", "snapshot", "blank"] },
  uuid: { type: "string", minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9._-]*$" },
  image_id: UUID_TEXT,
  destination_type: { type: "string", enum: ["local", "volume"] },
  guest_format: SHORT_TEXT,
  device_type: SHORT_TEXT,
  disk_bus: SHORT_TEXT,
  boot_index: { type: ["integer", "string", "null"], pattern: "^-?[0-9]+$" },
};

const VOLUME_TYPE = { type: ["string", "null"], minLength: 0, maxLength: 255 };

function list(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "array", items: { type: "object", properties, additionalProperties: false } };
}

/** The schema of `block_device_mapping`. */
export const FORMER_DEVICES = list(FORMER);

/** The schemas of `block_device_mapping_v2`. */
export const DEVICES = list(CURRENT);
export const TAGGED_DEVICES = list({ ...CURRENT, tag: TAG });
export const TYPED_DEVICES = list({ ...CURRENT, tag: TAG, volume_type: VOLUME_TYPE });
