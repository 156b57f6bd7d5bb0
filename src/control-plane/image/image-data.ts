import type { Bytes } from "../../runtime/http.js";
import { BYTES, type ServiceRequest, type ServiceResponse } from "../../runtime/http-server.js";
import { badRequest, forbidden, HttpError } from "../http/http-error.js";
import { json } from "../http/responses.js";
import { routes } from "../http/router.js";
import { isoMicroseconds } from "../http/times.js";
import { assertWithinQuota, type ImageCall, type ImageRoute, NO_CONTENT } from "./api/call.js";
import { findImage, findOwnImage, requirePolicy } from "./api/policy.js";
import type { Image } from "./image.js";
import { importImage } from "./image-import.js";
import type { Task } from "./image-tables.js";
import { uploadStore } from "./stores.js";

/** Routes of image data, and of the tasks that import it. */
export const DATA_ROUTES = routes<ImageRoute>({
  "GET /v2/images/:id/file": download,
  "PUT /v2/images/:id/file": upload,
  "PUT /v2/images/:id/stage": stage,
  "POST /v2/images/:id/import": importImage,
  "GET /v2/images/:id/tasks": (call) => {
    const { image } = findImage(call);
    return json(200, { tasks: call.store.tasks.list(image.id).map(taskView) });
  },
});

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

/** Handles GET /v2/images/{id}/file. The status is 204 if there is no data. @throws {HttpError} 403, 404 */
async function download(call: ImageCall): Promise<ServiceResponse> {
  const { image, target } = findImage(call);
  requirePolicy(call.caller, "download_image", target);
  if (image.status === "deactivated" && !call.isAdmin) {
    throw forbidden("The requested image has been deactivated. Image data download is forbidden.");
  }
  const isComplete = image.status === "active" || image.status === "deactivated";
  const bytes = isComplete ? await call.store.read(image.id) : undefined;
  if (bytes === undefined) {
    return NO_CONTENT;
  }
  return {
    status: 200,
    headers: {
      "content-type": BYTES,
      "content-length": String(image.size),
      ...(image.checksum === null ? {} : { "content-md5": image.checksum }),
    },
    body: "",
    bytes,
  };
}

/**
 * Handles PUT /v2/images/{id}/file, which stores the complete data or nothing.
 * @throws {HttpError} 400, 403, 404, 409, 410, 413, 415
 */
async function upload(call: ImageCall): Promise<ServiceResponse> {
  const image = findOwnImage(call, "upload_image");
  const bytes = bytesOf(call.request);
  if (image.status === "queued") {
    assertHasFormats(image);
  }
  assertWithinQuota(call, "image_size_total", image.owner, 0);
  assertUploadQuota(call, image);
  const stores = uploadStore(call.request.headers["x-image-meta-store"]);
  await call.store.write(image.id, bytes, stores);
  return NO_CONTENT;
}

/**
 * Handles PUT /v2/images/{id}/stage, which stores the complete data or nothing.
 * @throws {HttpError} 403, 404, 409, 410, 413, 415
 */
async function stage(call: ImageCall): Promise<ServiceResponse> {
  const image = findOwnImage(call, "modify_image");
  const bytes = bytesOf(call.request);
  assertWithinQuota(call, "image_stage_total", image.owner, 0);
  assertUploadQuota(call, image);
  await call.store.stage(image.id, bytes);
  return NO_CONTENT;
}

/**
 * Checks the number of uploads. An image that is already uploading fails later because of its status. @throws
 * {HttpError} 413
 */
function assertUploadQuota(call: ImageCall, { status, owner }: Image): void {
  if (status === "queued") {
    assertWithinQuota(call, "image_count_uploading", owner, 1);
  }
}

function bytesOf({ bytes, headers }: ServiceRequest): Bytes {
  const type = headers["content-type"] ?? "";
  if (bytes === undefined && type !== BYTES) {
    throw new HttpError(415, `The request media type ${type} is not supported by this server: ${BYTES} is.`);
  }
  return bytes ?? nothing();
}

function assertHasFormats({ diskFormat, containerFormat }: Image): void {
  const missing = [
    ...(diskFormat === null ? ["disk_format"] : []),
    ...(containerFormat === null ? ["container_format"] : []),
  ];
  if (missing.length > 0) {
    const what = missing.length === 1 ? "Property" : "Properties";
    throw badRequest(`${what} ${missing.join(", ")} must be set prior to saving data.`);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
