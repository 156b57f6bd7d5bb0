import type { NamedSchema } from "../api/validate.js";
import { UUID_PATTERN } from "../images/image-schema.js";
import { MEMBER_STATUSES } from "./member-table.js";

export const MEMBER_SCHEMA = {
  name: "member",
  properties: {
    member_id: { type: "string", description: "Id of a project." },
    image_id: { type: "string", pattern: UUID_PATTERN },
    created_at: { type: "string" },
    updated_at: { type: "string" },
    status: { type: "string", enum: MEMBER_STATUSES },
    schema: { type: "string", readOnly: true },
  },
} as const satisfies NamedSchema;
