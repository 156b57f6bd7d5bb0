import type { Flavor } from "../../../conductor/records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { notFound } from "../api/fault.js";

/** The flavor of the path; those that are not public are for administrators only. @throws {Fault} 404 */
export const findFlavor = ({ store }: Pick<ComputeDeps, "store">, call: Call): Flavor => {
  const id = call.param("flavor");
  const flavor = store.flavors.getByFlavorid(id);
  if (!flavor || !(flavor.isPublic || call.isAdmin)) throw notFound(`Flavor ${id} could not be found.`);
  return flavor;
};
