import { type Call, type HandlerResponse, latest, NO_CONTENT, provider, readJson } from "../http/call.js";
import { badRequest, conflict, ErrorCode, notFound } from "../http/http-error.js";
import { normalizeUuid } from "../json/uuid.js";
import { NotFound, ObjectActionError } from "../model/errors.js";
import { postProviderSchema, putProviderSchema } from "../schemas/provider.js";
import {
  CannotDeleteParent,
  createProvider,
  DuplicateProvider,
  deleteProvider,
  ProviderInUse,
  updateProvider,
} from "../store/provider-changes.js";
import { findProviders } from "./provider-filters.js";
import { fragment, providerJson } from "./provider-json.js";

interface ProviderBody {
  readonly name: string;
  readonly uuid?: string;
  readonly parent_provider_uuid?: string | null;
}

export function listProviders(call: Call): HandlerResponse {
  call.can("placement:resource_providers:list");
  const found = findProviders(call);
  const body = ['{"resource_providers":['];
  found.forEach((each, index) => {
    if (index > 0) {
      body.push(",");
    }
    body.push(cachedJson(call, each));
  });
  body.push("]}");
  return { body, modified: latest(found, call.unit.now) };
}

export function showProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:show");
  const found = provider(call, call.params[0] ?? "");
  return { body: cachedJson(call, found), modified: latest([found], call.unit.now) };
}

function cachedJson(call: Call, found: Parameters<typeof providerJson>[0]): string {
  return fragment(found, `p${call.minor}${call.prefix}`, () => providerJson(found, call.prefix, call.minor));
}

export function postProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:create");
  const body = readJson(call, postProviderSchema(call.minor)) as ProviderBody;
  const uuid = body.uuid ? normalizeUuid(body.uuid) : call.random.uuid();
  const { name } = body;
  try {
    const created = createProvider(call, { uuid, name, parentUuid: body.parent_provider_uuid ?? null });
    const location = `/resource_providers/${created.uuid}`;
    if (call.minor < 20) {
      return { status: 201, location };
    }
    return { location, body: providerJson(created, call.prefix, call.minor), modified: call.unit.now };
  } catch (error) {
    if (error instanceof DuplicateProvider) {
      const values = { uuid, name };
      const duplicates = error.columns.map((column) => `${column}: ${values[column]}`).join(", ");
      throw conflict(`Conflicting resource provider ${duplicates} already exists.`, ErrorCode.duplicateName);
    }
    if (error instanceof ObjectActionError) {
      throw badRequest(`Unable to create resource provider "${name}", ${uuid}: ${error.message}`);
    }
    throw error;
  }
}

export function putProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:update");
  const [uuid = ""] = call.params;
  const found = provider(call, uuid);
  const body = readJson(call, putProviderSchema(call.minor)) as ProviderBody;
  const { updatedAt } = found;
  const parentUuid = body.parent_provider_uuid === undefined ? (found.parent?.uuid ?? null) : body.parent_provider_uuid;
  try {
    updateProvider(call, found, { name: body.name, parentUuid, allowReparenting: call.minor >= 37 });
  } catch (error) {
    if (error instanceof DuplicateProvider) {
      throw conflict(`Conflicting resource provider ${body.name} already exists.`, ErrorCode.duplicateName);
    }
    if (error instanceof ObjectActionError) {
      throw badRequest(`Unable to save resource provider ${uuid}: ${error.message}`);
    }
    throw error;
  }
  return { body: providerJson(found, call.prefix, call.minor), modified: updatedAt };
}

export function removeProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:delete");
  const [uuid = ""] = call.params;
  try {
    deleteProvider(call, uuid);
  } catch (error) {
    if (error instanceof ProviderInUse) {
      const reason = "Resource provider has allocations.";
      throw conflict(`Unable to delete resource provider ${uuid}: ${reason}`, ErrorCode.providerInUse);
    }
    if (error instanceof CannotDeleteParent) {
      throw conflict(
        `Unable to delete parent resource provider ${uuid}: It has child resource providers.`,
        ErrorCode.cannotDeleteParent,
      );
    }
    if (error instanceof NotFound) {
      throw notFound(`No resource provider with uuid ${uuid} found for delete`);
    }
    throw error;
  }
  return NO_CONTENT;
}
