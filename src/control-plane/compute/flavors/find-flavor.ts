import type { Flavor } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { notFound } from "../api/fault.js";

/** The flavor of the path, if the caller sees it. @throws {Fault} 404 */
export function findFlavor(deps: Pick<ComputeDeps, "store">, call: Call): Flavor {
  const id = call.param("flavor");
  const flavor = deps.store.flavors.getByFlavorid(id);
  if (!flavor || !(call.isAdmin || isOpenTo(deps, flavor, call.credentials.projectId))) {
    throw notFound(`Flavor ${id} could not be found.`);
  }
  return flavor;
}

/** Public flavors are for every project, others for those that were given access. */
export function isOpenTo({ store }: Pick<ComputeDeps, "store">, flavor: Flavor, projectId: string | null): boolean {
  return flavor.isPublic || (projectId !== null && store.flavors.projects(flavor.flavorid).includes(projectId));
}
