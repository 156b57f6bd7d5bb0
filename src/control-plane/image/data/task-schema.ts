import type { NamedSchema } from "../api/validate.js";
import { UUID_PATTERN } from "../images/image-schema.js";

const TEXT = { type: "string" } as const;
const READ_ONLY = { type: "string", readOnly: true } as const;
const OBJECT = { type: ["null", "object"] } as const;

/** What lists say of a task. */
const SUMMARY = {
  id: { type: "string", pattern: UUID_PATTERN },
  type: { type: "string", enum: ["import", "api_image_import"] },
  status: { type: "string", enum: ["pending", "processing", "success", "failure"] },
  owner: TEXT,
  image_id: TEXT,
  request_id: TEXT,
  user_id: TEXT,
  expires_at: { type: ["null", "string"] },
  created_at: TEXT,
  updated_at: TEXT,
  self: READ_ONLY,
  schema: READ_ONLY,
} as const;

export const TASK_SCHEMA = {
  name: "task",
  properties: { ...SUMMARY, input: OBJECT, result: OBJECT, message: TEXT },
} as const satisfies NamedSchema;

export const TASK_SUMMARY_SCHEMA = { name: "task", properties: SUMMARY } as const satisfies NamedSchema;
