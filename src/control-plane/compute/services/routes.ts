import type { Json } from "../../http/json.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { MULTI } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { allServices } from "./all-services.js";
import { deleteService } from "./delete-service.js";
import { serviceView } from "./service-view.js";
import { updateService } from "./update-service.js";

const properties = { host: MULTI(), binary: MULTI() };
const QUERY = schemas(
  [1, { type: "object", properties, additionalProperties: true }],
  [75, { type: "object", properties, additionalProperties: false }],
);

export const SERVICE_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-services", handle: listServices },
  { method: "PUT", path: "/os-services/:id", handle: updateService },
  { method: "DELETE", path: "/os-services/:id", handle: deleteService },
];

/** All of them: Nova has no pages here. */
async function listServices(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  call.checkQuery(QUERY);
  requireAdmin(call, "os_compute_api:os-services:list");
  const [host, binary] = [call.query.get("host"), call.query.get("binary")];
  const views: Json[] = [];
  for await (const services of allServices(deps, { ...(host ? { host } : {}), ...(binary ? { binary } : {}) })) {
    views.push(...services.map((service) => serviceView(deps, service, call.version)));
  }
  return { body: { services: views } };
}
