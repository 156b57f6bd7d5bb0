import { badRequest, forbidden, HttpError, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { renderView } from "../engine/views.js";
import { DEFAULT_TYPES } from "../resources/administration.js";
import { requireTypeNamed } from "./find-type.js";

/** @throws {HttpError} 403 */
function authorize({ context }: BlockStorageCall, operation: string): void {
  if (!context.allows(`volume_extension:default_${operation}`)) {
    throw forbidden("You are not authorized to perform this operation.");
  }
}

function findDefault(call: BlockStorageCall) {
  const id = call.param("id");
  const found = call.context.table(DEFAULT_TYPES).get(id);
  if (found === undefined) {
    throw notFound(`Default type for project ${id} not found.`);
  }
  return found;
}

/** The default volume types of projects. Their paths lack the caller's project. */
export const DEFAULT_TYPE_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>(
  {
    "GET /": (call) => {
      authorize(call, "get_all");
      const types = call.context.table(DEFAULT_TYPES).list();
      return { body: { default_types: types.map((type) => renderView(call, DEFAULT_TYPES, type, "show")) } };
    },
    "GET /:id": (call) => {
      authorize(call, "get");
      return { body: { default_type: renderView(call, DEFAULT_TYPES, findDefault(call), "show") } };
    },
    "PUT /:id": (call) => {
      authorize(call, "set_or_update");
      const { default_type: requested } = call.json() as { readonly default_type?: Body };
      const name = requested?.volume_type;
      if (typeof name !== "string") {
        throw badRequest("Invalid input for field/attribute default_type.");
      }
      const id = call.param("id");
      const type = typeNamed(call, name);
      if (!call.context.table(DEFAULT_TYPES).updateIf({ sql: "id = ?", values: [id] }, { volume_type_id: type.id })) {
        call.context.insert(DEFAULT_TYPES, { id, volume_type_id: type.id });
      }
      return { body: { default_type: { project_id: id, volume_type_id: type.id } } };
    },
    "DELETE /:id": (call) => {
      authorize(call, "unset");
      call.context.table(DEFAULT_TYPES).delete(call.param("id"));
      return { status: 204 };
    },
  },
  { prefix: "/default-types", from: 62 },
);

/** An unknown type is a bad request here. */
function typeNamed({ context }: BlockStorageCall, name: string) {
  try {
    return requireTypeNamed(context, name);
  } catch (error) {
    throw error instanceof HttpError ? badRequest(error.message) : error;
  }
}
