import type { ComputeRoute } from "../api/call.js";
import { requireAdmin } from "../api/policy.js";
import { createFlavor, updateFlavor } from "./create-flavor.js";
import { EXTRA_SPEC_ROUTES } from "./extra-specs.js";
import { findFlavor } from "./find-flavor.js";
import { FLAVOR_ACCESS_ROUTES } from "./flavor-access.js";
import { flavorDetail } from "./flavor-view.js";
import { listFlavors } from "./list-flavors.js";

export const FLAVOR_ROUTES: readonly ComputeRoute[] = [
  { method: "POST", path: "/flavors", handle: createFlavor },
  { method: "GET", path: "/flavors", handle: (deps, call) => listFlavors(deps, false, call) },
  { method: "GET", path: "/flavors/detail", handle: (deps, call) => listFlavors(deps, true, call) },
  {
    method: "GET",
    path: "/flavors/:flavor",
    handle: (deps, call) => ({ body: { flavor: flavorDetail(findFlavor(deps, call), call.version, call.links) } }),
  },
  { method: "PUT", path: "/flavors/:flavor", from: 55, handle: updateFlavor },
  {
    method: "DELETE",
    path: "/flavors/:flavor",
    handle: (deps, call) => {
      requireAdmin(call, "os_compute_api:os-flavor-manage:delete");
      deps.store.flavors.destroy(findFlavor(deps, call).flavorid);
      return { status: 202 };
    },
  },
  ...FLAVOR_ACCESS_ROUTES,
  ...EXTRA_SPEC_ROUTES,
];
