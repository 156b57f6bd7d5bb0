import { isObject } from "../../../runtime/is-object.js";
import { badRequest } from "../api/fault.js";
import { UUID_PATTERN } from "../images/image-schema.js";
import { IMPORT_METHODS } from "./import-methods.js";

/** The bytes come from the staging area, from the image's own store, or from an image of a Glance in the catalog. */
export type ImportRequest =
  | { readonly method: "glance-direct" }
  | { readonly method: "copy-image" }
  | {
      readonly method: "glance-download";
      readonly imageId: string;
      readonly region: string;
      readonly serviceInterface: string;
    };

/** What an import's body asks for. @throws {ImageFault} 400 */
export function readImport(body: Readonly<Record<string, unknown>>): ImportRequest {
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
