import type { Flavor } from "../../../records/index.js";
import { badRequest, conflict, notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";

interface Tenant {
  readonly tenant: string;
}

function body(action: string): Schema {
  return {
    type: "object",
    properties: {
      [action]: {
        type: "object",
        properties: { tenant: { type: "string", minLength: 1, maxLength: 255 } },
        required: ["tenant"],
        additionalProperties: false,
      },
    },
    required: [action],
    additionalProperties: false,
  };
}

const ADD = schemas<{ readonly addTenantAccess: Tenant }>([1, body("addTenantAccess")]);

const REMOVE = schemas<{ readonly removeTenantAccess: Tenant }>([1, body("removeTenantAccess")]);

/** Routes of the projects that may use a flavor that is not public. */
export const FLAVOR_ACCESS_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/flavors/:flavor/os-flavor-access",
    handle: (deps, call) => {
      requireAdmin(call, "os_compute_api:os-flavor-access");
      const flavor = findFlavor(deps, call);
      if (flavor.isPublic) {
        throw notFound("Access list not available for public flavors.");
      }
      return { body: accessList(deps, flavor) };
    },
  },
  { method: "POST", path: "/flavors/:flavor/action", handle: changeAccess },
];

function changeAccess(deps: ComputeDeps, call: Call): ComputeResponse {
  const requestBody = call.json();
  const [action] = typeof requestBody === "object" && requestBody !== null ? Object.keys(requestBody) : [];
  if (action === "addTenantAccess") {
    return addAccess(deps, call);
  }
  if (action === "removeTenantAccess") {
    return removeAccess(deps, call);
  }
  throw badRequest(`There is no such action: ${action ?? ""}`);
}

function addAccess(deps: ComputeDeps, call: Call): ComputeResponse {
  const { tenant } = call.body(ADD).addTenantAccess;
  requireAdmin(call, "os_compute_api:os-flavor-access:add_tenant_access");
  if (!deps.projectExists(tenant)) {
    throw badRequest(`Project ID ${tenant} is not a valid project.`);
  }
  const flavor = findFlavor(deps, call);
  if (call.version >= 7 && flavor.isPublic) {
    throw conflict("Can not add access to a public flavor.");
  }
  deps.store.flavors.addProject(flavor.flavorid, tenant);
  return { body: accessList(deps, flavor) };
}

function removeAccess(deps: ComputeDeps, call: Call): ComputeResponse {
  const { tenant } = call.body(REMOVE).removeTenantAccess;
  requireAdmin(call, "os_compute_api:os-flavor-access:remove_tenant_access");
  const flavor = findFlavor(deps, call);
  // The project need not exist any more: its access is removed in any case.
  deps.store.flavors.removeProject(flavor.flavorid, tenant);
  return { body: accessList(deps, flavor) };
}

function accessList({ store }: ComputeDeps, { flavorid }: Flavor): Json {
  return {
    flavor_access: store.flavors.projects(flavorid).map((id) => ({ flavor_id: flavorid, tenant_id: id })),
  };
}

/** Returns the flavor that the path names, if the caller may see it. @throws {HttpError} 404 */
export function findFlavor(deps: Pick<ComputeDeps, "store">, call: Call): Flavor {
  const id = call.param("flavor");
  const flavor = deps.store.flavors.getByFlavorid(id);
  if (!flavor || !(call.isAdmin || isOpenTo(deps, flavor, call.credentials.projectId))) {
    throw notFound(`Flavor ${id} could not be found.`);
  }
  return flavor;
}

/** Returns whether the project may use the flavor: it is public, or the project has access. */
export function isOpenTo({ store }: Pick<ComputeDeps, "store">, flavor: Flavor, projectId: string | null): boolean {
  return flavor.isPublic || (projectId !== null && store.flavors.projects(flavor.flavorid).includes(projectId));
}
