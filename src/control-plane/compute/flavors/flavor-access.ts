import type { Flavor } from "../../../records/index.js";
import { badRequest, conflict, notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { routes } from "../../http/router.js";
import { schemas } from "../../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { bodyOf } from "../api/schema-parts.js";

interface Tenant {
  readonly tenant: string;
}

const TENANT = bodyOf("tenant", { type: "string", minLength: 1, maxLength: 255 });

const ADD = schemas<{ readonly addTenantAccess: Tenant }>([1, bodyOf("addTenantAccess", TENANT)]);

const REMOVE = schemas<{ readonly removeTenantAccess: Tenant }>([1, bodyOf("removeTenantAccess", TENANT)]);

/** Routes of the projects that may use a flavor that is not public. */
export const FLAVOR_ACCESS_ROUTES = routes<ComputeRoute>({
  "GET /flavors/:flavor/os-flavor-access": (call) => {
    requireAdmin(call, "os_compute_api:os-flavor-access");
    const flavor = findFlavor(call);
    if (flavor.isPublic) {
      throw notFound("Access list not available for public flavors.");
    }
    return { body: accessList(call.deps, flavor) };
  },
  "POST /flavors/:flavor/action": changeAccess,
});

function changeAccess(call: Call): ComputeResponse {
  const requestBody = call.json();
  const [action] = typeof requestBody === "object" && requestBody !== null ? Object.keys(requestBody) : [];
  if (action === "addTenantAccess") {
    return addAccess(call);
  }
  if (action === "removeTenantAccess") {
    return removeAccess(call);
  }
  throw badRequest(`There is no such action: ${action ?? ""}`);
}

function addAccess(call: Call): ComputeResponse {
  const { tenant } = call.body(ADD).addTenantAccess;
  requireAdmin(call, "os_compute_api:os-flavor-access:add_tenant_access");
  if (!call.deps.projectExists(tenant)) {
    throw badRequest(`Project ID ${tenant} is not a valid project.`);
  }
  const flavor = findFlavor(call);
  if (call.version >= 7 && flavor.isPublic) {
    throw conflict("Can not add access to a public flavor.");
  }
  call.store.flavors.addProject(flavor.flavorid, tenant);
  return { body: accessList(call.deps, flavor) };
}

function removeAccess(call: Call): ComputeResponse {
  const { tenant } = call.body(REMOVE).removeTenantAccess;
  requireAdmin(call, "os_compute_api:os-flavor-access:remove_tenant_access");
  const flavor = findFlavor(call);
  // The project need not exist any more: its access is removed in any case.
  call.store.flavors.removeProject(flavor.flavorid, tenant);
  return { body: accessList(call.deps, flavor) };
}

function accessList({ store }: ComputeDeps, { flavorid }: Flavor): Json {
  return {
    flavor_access: store.flavors.projects(flavorid).map((id) => ({ flavor_id: flavorid, tenant_id: id })),
  };
}

/** Returns the flavor that the path names, if the caller may see it. @throws {HttpError} 404 */
export function findFlavor(call: Call): Flavor {
  const id = call.param("flavor");
  const flavor = call.store.flavors.getByFlavorid(id);
  if (!flavor || !(call.isAdmin || isOpenTo(call.deps, flavor, call.credentials.projectId))) {
    throw notFound(`Flavor ${id} could not be found.`);
  }
  return flavor;
}

/** Returns whether the project may use the flavor: it is public, or the project has access. */
export function isOpenTo({ store }: Pick<ComputeDeps, "store">, flavor: Flavor, projectId: string | null): boolean {
  return flavor.isPublic || (projectId !== null && store.flavors.projects(flavor.flavorid).includes(projectId));
}
