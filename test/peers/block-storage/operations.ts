import type { Operation } from "./operation.js";
import { ADMINISTRATION_OPERATIONS } from "./operations/administration.js";
import { ATTACHMENT_OPERATIONS } from "./operations/attachments.js";
import { COPY_OPERATIONS } from "./operations/copies.js";
import { GROUP_OPERATIONS } from "./operations/groups.js";
import { TYPE_OPERATIONS } from "./operations/types.js";
import { VOLUME_OPERATIONS } from "./operations/volumes.js";

/** All kinds of requests. */
export const OPERATIONS: readonly Operation[] = [
  ...VOLUME_OPERATIONS,
  ...COPY_OPERATIONS,
  ...ATTACHMENT_OPERATIONS,
  ...TYPE_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...ADMINISTRATION_OPERATIONS,
];
