import { notFound } from "../../http/http-error.js";
import { where } from "../../resources/condition.js";
import { defaultTypeName } from "../block-storage-options.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { recordNotFound } from "../engine/block-storage-errors.js";
import { isUuidLike } from "../engine/formats.js";
import { DEFAULT_TYPES } from "../resources/administration.js";
import { TYPES, type VolumeType } from "../resources/types.js";

/** Whether the caller may use a type. */
function mayUseType({ caller }: BlockStorageContext, { is_public: isPublic, projects }: VolumeType): boolean {
  return isPublic || caller.isAdmin || projects.includes(caller.projectId);
}

/** @throws {HttpError} 404 */
export function requireType(context: BlockStorageContext, id: string): VolumeType {
  const type = context.table(TYPES).get(id);
  if (type === undefined || !mayUseType(context, type)) {
    throw recordNotFound(TYPES, id);
  }
  return type;
}

/** @throws {HttpError} 404 */
export function requireTypeNamed(context: BlockStorageContext, nameOrId: string): VolumeType {
  const named = context.table(TYPES).first(where`name = ${nameOrId}`);
  if (named && mayUseType(context, named)) {
    return named;
  }
  if (named) {
    throw recordNotFound(TYPES, named.id);
  }
  if (isUuidLike(nameOrId)) {
    return requireType(context, nameOrId);
  }
  throw notFound(`Volume type with name ${nameOrId} could not be found.`);
}

/** Returns the type of volumes that name none: the project's own default, or that of the configuration. */
export function defaultType(context: BlockStorageContext, projectId: string): VolumeType | undefined {
  const own = context.table(DEFAULT_TYPES).get(projectId);
  return own ? context.table(TYPES).get(own.volume_type_id) : configuredType(context);
}

export function configuredType(context: BlockStorageContext): VolumeType | undefined {
  return context.table(TYPES).first(where`name = ${defaultTypeName(context.services.options)}`);
}

/** Returns whether volumes of the type can be attached to several servers. */
export const isMultiattach = (type: VolumeType | undefined): boolean => type?.extra_specs.multiattach === "<is> True";
