import { isObject } from "../../runtime/collections.js";
import { errorMessage } from "../../runtime/error-messages.js";
import type { ServiceResponse } from "../../runtime/http-server.js";
import { badRequest, conflict, HttpError } from "../http/http-error.js";
import { REGION } from "../identity/store/bootstrap.js";
import { assertWithinQuota, type ImageCall } from "./api/call.js";
import { findImage, findOwnImage, may, requirePolicy, sees } from "./api/policy.js";
import type { Image } from "./image.js";
import { UUID_PATTERN } from "./images/image-attributes.js";
import { IMPORT_METHODS, importStores, ordered, storesOf } from "./stores.js";

/** The source of the data: the staging area, the image's own store, or an image of a Glance in the catalog. */
type ImportRequest =
  | { readonly method: "glance-direct" }
  | { readonly method: "copy-image" }
  | {
      readonly method: "glance-download";
      readonly imageId: string;
      readonly region: string;
      readonly serviceInterface: string;
    };

const INTERFACES = ["public", "internal", "admin"];

/** Properties of the image about stores when the import is complete. */
const IMPORTED = { os_glance_importing_to_stores: "", os_glance_failed_import: "" } as const;

/** Prefixes of properties that are copied with the data: Glance's `[glance_download_properties] extra_properties`. */
const INHERITED = ["hw_", "trait:", "os_distro", "os_secure_boot", "os_type"];

/**
 * Handles POST /v2/images/{id}/import. The import has completed or failed before the response, as the image's tasks
 * report.
 * @throws {HttpError} 400, 403, 404, 409
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
    store.tasks.end(id, "failure", errorMessage(error));
    if (error instanceof HttpError && error.status === 409) {
      throw error;
    }
  }
  return { status: 202, headers: {}, body: "" };
}

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

/**
 * Returns the source image of a glance-download. This service is the only Glance in the catalog, in its only region.
 */
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

/** Parses the body of an import. @throws {HttpError} 400 */
function readImport(body: Readonly<Record<string, unknown>>): ImportRequest {
  const { method } = body;
  if (method === undefined) {
    throw badRequest("Import request requires a 'method' field.");
  }
  if (!isObject(method) || method.name === undefined) {
    throw badRequest("Import request requires a 'name' field.");
  }
  const known = IMPORT_METHODS.find((each) => each === method.name);
  if (!known) {
    throw badRequest(unknownMethod(String(method.name)));
  }
  checkFlag(body, "all_stores_must_succeed");
  checkFlag(body, "all_stores");
  return known === "glance-download" ? readDownload(method) : { method: known };
}

function unknownMethod(name: string): string {
  const unknown = `Unknown import method name '${name}'.`;
  return name === "web-download"
    ? `${unknown} This cloud fetches nothing from a network: upload the bytes, or stage them for 'glance-direct'.`
    : unknown;
}

function checkFlag(body: Readonly<Record<string, unknown>>, name: string): void {
  if (body[name] !== undefined && typeof body[name] !== "boolean") {
    throw badRequest(`'${name}' must be boolean value only`);
  }
}

function readDownload(method: Readonly<Record<string, unknown>>): ImportRequest {
  const { glance_region: region, glance_image_id: imageId, glance_service_interface: serviceInterface } = method;
  for (const [name, value] of Object.entries({ glance_region: region, glance_image_id: imageId })) {
    if (value === undefined) {
      throw badRequest(`'${name}' needs to be set for glance-download import method`);
    }
  }
  if (typeof imageId !== "string" || !new RegExp(UUID_PATTERN).test(imageId)) {
    throw badRequest(`Remote image id does not look like a UUID: ${String(imageId)}`);
  }
  return {
    method: "glance-download",
    imageId,
    region: String(region),
    serviceInterface: serviceInterface === undefined ? "public" : String(serviceInterface),
  };
}
