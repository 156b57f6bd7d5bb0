import { json } from "../../http/responses.js";
import type { ImageRoute } from "../api/call.js";
import { deactivate, reactivate } from "./activation.js";
import { createImage } from "./create-image.js";
import { deleteImage } from "./delete-image.js";
import { findImage } from "./find-image.js";
import { imageView } from "./image-view.js";
import { listImages } from "./list-images.js";
import { addTag, removeTag } from "./tags.js";
import { updateImage } from "./update-image.js";

/** What is said of images. */
export const IMAGE_ROUTES: readonly ImageRoute[] = [
  { method: "GET", path: "/v2/images", handle: listImages },
  { method: "POST", path: "/v2/images", handle: createImage },
  { method: "GET", path: "/v2/images/:id", handle: (call) => json(200, imageView(findImage(call).image)) },
  { method: "PATCH", path: "/v2/images/:id", handle: updateImage },
  { method: "DELETE", path: "/v2/images/:id", handle: deleteImage },
  { method: "POST", path: "/v2/images/:id/actions/deactivate", handle: deactivate },
  { method: "POST", path: "/v2/images/:id/actions/reactivate", handle: reactivate },
  { method: "PUT", path: "/v2/images/:id/tags/:tag", handle: addTag },
  { method: "DELETE", path: "/v2/images/:id/tags/:tag", handle: removeTag },
];
