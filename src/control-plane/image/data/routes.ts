import { json } from "../../http/responses.js";
import { isoMicroseconds } from "../../http/times.js";
import type { ImageRoute } from "../api/call.js";
import { findImage } from "../images/find-image.js";
import { importImage } from "./import-image.js";
import type { Task } from "./task-table.js";
import { download, stage, upload } from "./transfer.js";

/** Bytes of images, and the tasks that bring them. */
export const DATA_ROUTES: readonly ImageRoute[] = [
  { method: "GET", path: "/v2/images/:id/file", handle: download },
  { method: "PUT", path: "/v2/images/:id/file", handle: upload },
  { method: "PUT", path: "/v2/images/:id/stage", handle: stage },
  { method: "POST", path: "/v2/images/:id/import", handle: importImage },
  {
    method: "GET",
    path: "/v2/images/:id/tasks",
    handle: (call) => {
      const { image } = findImage(call);
      return json(200, { tasks: call.store.tasks.list(image.id).map(taskView) });
    },
  },
];

function taskView(task: Task): Readonly<Record<string, unknown>> {
  return {
    id: task.id,
    type: "api_image_import",
    status: task.status,
    owner: task.owner,
    expires_at: task.expiresAt === null ? null : isoMicroseconds(task.expiresAt),
    created_at: isoMicroseconds(task.createdAt),
    updated_at: isoMicroseconds(task.updatedAt),
    deleted_at: null,
    deleted: false,
    image_id: task.imageId,
    request_id: task.requestId,
    user_id: task.userId,
    input: task.input,
    result: task.status === "success" ? { image_id: task.imageId } : null,
    message: task.message,
  };
}
