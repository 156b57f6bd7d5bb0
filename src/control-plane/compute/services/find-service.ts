import type { Service } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/formats.js";

/** The service of the path: by uuid since 2.53, by number before. @throws {Fault} 400, 404 */
export function findService(
  { store }: Pick<ComputeDeps, "store">,
  call: Call,
  missing: (id: string) => string,
): Service {
  const id = call.param("id");
  if (call.version >= 53 && !isUuidLike(id)) {
    throw badRequest(`Invalid uuid ${id}`);
  }
  if (call.version < 53 && !/^-?\d{1,15}$/.test(id)) {
    throw badRequest("Invalid input received: id must be an integer");
  }
  const service = call.version >= 53 ? store.services.getByUuid(id.toLowerCase()) : store.services.get(Number(id));
  if (!service) {
    throw notFound(missing(id));
  }
  return service;
}
