import { ATTACHMENT_ROUTES } from "./attachments/attachment-routes.js";
import { BACKUP_ROUTES } from "./backups/backup-routes.js";
import { type Action, actionRoute } from "./engine/actions.js";
import type { BlockStorageRoute } from "./engine/block-storage-call.js";
import { GROUP_ROUTES } from "./groups/group-routes.js";
import { GROUP_SNAPSHOT_ROUTES } from "./groups/group-snapshot-routes.js";
import { GROUP_TYPE_ROUTES } from "./groups/group-type-routes.js";
import { QUOTA_ROUTES } from "./quotas/quota-routes.js";
import { VOLUMES, type Volume } from "./resources/volumes.js";
import { EXTENSION_ROUTES } from "./services/extensions.js";
import { MANAGE_ROUTES } from "./services/manage-routes.js";
import { SERVICE_ROUTES } from "./services/service-routes.js";
import { VIEW_ROUTES } from "./services/view-routes.js";
import { SNAPSHOT_ROUTES } from "./snapshots/snapshots.js";
import { TRANSFER_ROUTES } from "./transfers/transfer-routes.js";
import { DEFAULT_TYPE_ROUTES } from "./types/default-type-routes.js";
import { ENCRYPTION_ROUTES } from "./types/encryption-routes.js";
import { EXTRA_SPEC_ROUTES } from "./types/extra-spec-routes.js";
import { QOS_ROUTES } from "./types/qos-routes.js";
import { TYPE_ROUTES } from "./types/type-routes.js";
import { ADMIN_ACTIONS } from "./volumes/admin-actions.js";
import { IMAGE_ACTIONS } from "./volumes/image-actions.js";
import { VOLUME_ACTIONS } from "./volumes/volume-actions.js";
import { VOLUME_ROUTES } from "./volumes/volume-routes.js";

const ALL_VOLUME_ACTIONS: Readonly<Record<string, Action<Volume>>> = {
  ...VOLUME_ACTIONS,
  ...IMAGE_ACTIONS,
  ...ADMIN_ACTIONS,
};

/** All routes of the API. Their paths follow the project's id. */
export const BLOCK_STORAGE_ROUTES: readonly BlockStorageRoute[] = [
  ...VOLUME_ROUTES,
  actionRoute(
    "/volumes/:id/action",
    0,
    ({ context, params }) => context.require(VOLUMES, params.id ?? ""),
    ALL_VOLUME_ACTIONS,
  ),
  ...SNAPSHOT_ROUTES,
  ...ATTACHMENT_ROUTES,
  ...BACKUP_ROUTES,
  ...TRANSFER_ROUTES,
  ...TYPE_ROUTES,
  ...EXTRA_SPEC_ROUTES,
  ...ENCRYPTION_ROUTES,
  ...QOS_ROUTES,
  ...DEFAULT_TYPE_ROUTES,
  ...GROUP_TYPE_ROUTES,
  ...GROUP_ROUTES,
  ...GROUP_SNAPSHOT_ROUTES,
  ...QUOTA_ROUTES,
  ...SERVICE_ROUTES,
  ...VIEW_ROUTES,
  ...MANAGE_ROUTES,
  ...EXTENSION_ROUTES,
];
