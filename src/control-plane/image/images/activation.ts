import type { ServiceResponse } from "../../../runtime/service.js";
import { type ImageCall, NO_CONTENT } from "../api/call.js";
import { forbidden } from "../api/fault.js";
import { findOwnImage } from "./find-image.js";

/** POST /v2/images/{id}/actions/deactivate. @throws {ImageFault} 403, 404 */
export function deactivate(call: ImageCall): ServiceResponse {
  return turn(call, "deactivate", "active", "deactivated");
}

/** POST /v2/images/{id}/actions/reactivate. @throws {ImageFault} 403, 404 */
export function reactivate(call: ImageCall): ServiceResponse {
  return turn(call, "reactivate", "deactivated", "active");
}

function turn(
  call: ImageCall,
  action: "deactivate" | "reactivate",
  from: "active" | "deactivated",
  to: "active" | "deactivated",
): ServiceResponse {
  const { id, status } = findOwnImage(call, action);
  if (status !== from && status !== to) {
    throw forbidden(`Not allowed to ${action} image in status '${status}'`);
  }
  call.store.table.change(id, [from], { status: to });
  return NO_CONTENT;
}
