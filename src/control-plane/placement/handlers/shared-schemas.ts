import type { Schema } from "../../http/schemas.js";

/** The max value of a signed 32-bit integer. */
export const MAX_INT = 0x7fffffff;

export const UUID_PATTERN = "^[0-9a-fA-F-]{36}$";

export const RC_PATTERN = "^[A-Z0-9_]+$";

export const CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$";

/** Matches the suffix of a request group before microversion 1.33. */
export const GROUP_PATTERN = "[1-9][0-9]*";

export const GROUP_PATTERN_1_33 = "[a-zA-Z0-9_-]{1,64}";

export const UUID: Schema = { type: "string", format: "uuid" };

export const EXTERNAL_ID: Schema = { type: "string", minLength: 1, maxLength: 255 };
