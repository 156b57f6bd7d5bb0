import type { Schema } from "../json/schema.js";
import { EXTERNAL_ID, RC_PATTERN } from "./common.js";

const OWNER = { project_id: EXTERNAL_ID, user_id: EXTERNAL_ID };

export const USAGES_1_9: Schema = {
  type: "object",
  properties: OWNER,
  required: ["project_id"],
  additionalProperties: false,
};

export const USAGES_1_38: Schema = {
  type: "object",
  properties: {
    ...OWNER,
    consumer_type: { type: "string", pattern: `${RC_PATTERN}|^all|^unknown$`, minLength: 1, maxLength: 255 },
  },
  required: ["project_id"],
  additionalProperties: false,
};
