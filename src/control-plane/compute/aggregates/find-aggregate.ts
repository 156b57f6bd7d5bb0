import type { Aggregate } from "../../store/aggregates.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";

/** The aggregate of the path. @throws {Fault} 400, 404 */
export function findAggregate({ store }: Pick<ComputeDeps, "store">, call: Call): Aggregate {
  const id = call.param("id");
  if (!/^-?\d{1,15}$/.test(id)) {
    throw badRequest("Invalid input received: id must be an integer");
  }
  const aggregate = store.aggregates.get(Number(id));
  if (!aggregate) {
    throw notFound(`Aggregate ${id} could not be found.`);
  }
  return aggregate;
}
