import { BYTES, type ServiceRequest, type ServiceResponse } from "../../runtime/service.js";
import { html } from "./html.js";
import { ImageGone, ImageNotQueued, type ImageStore, ImageTooLarge } from "./image-store.js";
import type { Image } from "./images.js";

const EMPTY: ServiceResponse = { status: 204, headers: {}, body: "" };

/** GET /v2/images/{id}/file: 204 without bytes. */
export async function download(store: ImageStore, image: Image): Promise<ServiceResponse> {
  const bytes = image.status === "active" ? await store.read(image.id) : undefined;
  if (bytes === undefined) {
    return EMPTY;
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

/** PUT /v2/images/{id}/file: all of the bytes, or none. */
export async function upload(
  store: ImageStore,
  image: Image,
  { bytes, headers }: ServiceRequest,
): Promise<ServiceResponse> {
  const type = headers["content-type"] ?? "";
  if (bytes === undefined && type !== BYTES) {
    return html(415, "Unsupported Media Type", `The request media type ${type} is not supported: ${BYTES} is.`);
  }
  if (image.diskFormat === null || image.containerFormat === null) {
    return html(400, "Bad Request", "Properties disk_format, container_format must be set prior to saving data.");
  }
  try {
    await store.write(image.id, bytes ?? nothing());
    return EMPTY;
  } catch (error) {
    if (error instanceof ImageNotQueued) {
      return html(409, "Conflict", error.message);
    }
    if (error instanceof ImageTooLarge) {
      return html(413, "Request Entity Too Large", error.message);
    }
    if (error instanceof ImageGone) {
      return html(410, "Gone", error.message);
    }
    throw error;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
