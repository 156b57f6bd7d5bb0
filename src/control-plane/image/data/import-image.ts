import type { ServiceResponse } from "../../../runtime/service.js";
import { REGION } from "../../identity/store/bootstrap.js";
import type { ImageCall } from "../api/call.js";
import { badRequest, conflict } from "../api/fault.js";
import { may, requirePolicy } from "../api/policy.js";
import { ImageStatusConflict } from "../image-store.js";
import { findImage, findOwnImage, sees } from "../images/find-image.js";
import type { Image } from "../images.js";
import { assertWithinQuota } from "../quotas.js";
import { importStores, ordered, storesOf } from "../stores.js";
import { type ImportRequest, readImport } from "./import-request.js";

const INTERFACES = ["public", "internal", "admin"];

/** What the image says of the stores when nothing is left to do. */
const IMPORTED = { os_glance_importing_to_stores: "", os_glance_failed_import: "" } as const;

/** Properties that come with the bytes: Glance's `[glance_download_properties] extra_properties`. */
const INHERITED = ["hw_", "trait:", "os_distro", "os_secure_boot", "os_type"];

/**
 * POST /v2/images/{id}/import. It is done, or has failed, when it is answered: the image's tasks say which.
 * @throws {ImageFault} 400, 403, 404, 409
 */
export async function importImage(call: ImageCall): Promise<ServiceResponse> {
  const body = call.object();
  const importRequest = readImport(body);
  const { image } = findImage(call);
  assertImportableStatus(image, importRequest.method);
  if (importRequest.method === "copy-image") {
    requirePolicy(call.caller, "copy_image");
  }
  findOwnImage(call, "modify_image");
  assertWithinQuota(call, "image_size_total", image.owner, 0);
  const stores = importStores(body, call.request.headers["x-image-meta-store"]);
  const missing = stores.filter((store) => !storesOf(image).includes(store));
  if (importRequest.method === "copy-image" && body.all_stores !== true && missing.length < stores.length) {
    const present = stores.find((store) => !missing.includes(store));
    throw badRequest(`Image is already present at store '${present}'`);
  }
  const { store, caller, requestId, random } = call;
  const id = random.uuid();
  store.tasks.add({
    id,
    imageId: image.id,
    requestId,
    userId: caller.userId,
    owner: caller.projectId,
    input: { image_id: image.id, import_req: body, backend: stores },
  });
  try {
    await bring(call, image, importRequest, stores);
    store.tasks.end(id, "success");
  } catch (error) {
    store.tasks.end(id, "failure", error instanceof Error ? error.message : String(error));
    if (error instanceof ImageStatusConflict) {
      throw conflict(error.message);
    }
  }
  return { status: 202, headers: {}, body: "" };
}

/** @throws {ImageFault} 409 */
function assertImportableStatus({ status, containerFormat, diskFormat }: Image, method: ImportRequest["method"]): void {
  if (method === "copy-image") {
    if (status !== "active") {
      throw conflict("Only images with status active can be targeted for copying");
    }
    return;
  }
  if (status === "active") {
    throw conflict("Image with status active cannot be target for import");
  }
  if (status !== "queued" && method === "glance-download") {
    throw conflict(`Image needs to be in 'queued' state to use '${method}' method`);
  }
  if (status !== "uploading" && method === "glance-direct") {
    throw conflict("Image needs to be staged before 'glance-direct' method can be used");
  }
  if (containerFormat === null) {
    throw conflict("'container_format' needs to be set before import");
  }
  if (diskFormat === null) {
    throw conflict("'disk_format' needs to be set before import");
  }
}

async function bring(
  call: ImageCall,
  image: Image,
  importRequest: ImportRequest,
  stores: readonly string[],
): Promise<void> {
  const notes = { internal: IMPORTED, stores };
  if (importRequest.method === "glance-direct") {
    await call.store.importStaged(image.id, notes);
    return;
  }
  if (importRequest.method === "copy-image") {
    const all = ordered([...storesOf(image), ...stores]);
    call.store.table.change(image.id, ["active"], { ...notes, stores: all });
    return;
  }
  const source = sourceOf(call, importRequest);
  const bytes = await call.store.read(source.id);
  if (bytes === undefined) {
    throw new Error(`Image ${source.id} has no bytes to import.`);
  }
  const inherited = Object.entries(source.properties).filter(([name]) =>
    INHERITED.some((prefix) => name.startsWith(prefix)),
  );
  await call.store.copy(image.id, bytes, {
    diskFormat: source.diskFormat,
    containerFormat: source.containerFormat,
    virtualSize: source.virtualSize,
    properties: { ...image.properties, ...Object.fromEntries(inherited) },
    ...notes,
  });
}

/** This service is the only Glance that the catalog knows, in its only region. */
function sourceOf(
  { store, caller }: ImageCall,
  { imageId, region, serviceInterface }: Extract<ImportRequest, { method: "glance-download" }>,
): Image {
  if (region !== REGION || !INTERFACES.includes(serviceInterface)) {
    throw new Error(`No glance endpoint found for region ${region} and interface ${serviceInterface}.`);
  }
  const source = store.table.get(imageId);
  const isMember = caller.projectId !== null && store.members.get(imageId, caller.projectId) !== undefined;
  const isOpen = source !== undefined && sees(caller, source, isMember);
  if (!isOpen || !may(caller, "download_image", { ...source, isMember })) {
    throw new Error(`No image found with ID ${imageId}`);
  }
  if (source.status !== "active") {
    throw new Error(`Source image status should be active instead of ${source.status}`);
  }
  return source;
}
