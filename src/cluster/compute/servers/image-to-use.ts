import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";

/** What a server notes of an image that it is made of, or rescued with. @throws {Fault} 400 */
export function imageToUse(
  { images }: Pick<ComputeDeps, "images">,
  id: string,
  unknown: string,
): Readonly<Record<string, string>> {
  const properties = images.properties(id);
  if (properties === undefined) {
    throw badRequest(unknown);
  }
  if (images.find(id)?.status !== "active") {
    throw badRequest(`Image ${id} is not active.`);
  }
  return properties;
}
