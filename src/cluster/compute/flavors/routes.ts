import type { ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { createFlavor, updateFlavor } from "./create-flavor.js";
import { extraSpecRoutes } from "./extra-specs.js";
import { findFlavor } from "./find-flavor.js";
import { flavorAccessRoutes } from "./flavor-access.js";
import { flavorDetail } from "./flavor-view.js";
import { listFlavors } from "./list-flavors.js";

export const flavorRoutes = (deps: ComputeDeps): readonly ComputeRoute[] => [
  { method: "POST", path: "/flavors", answer: createFlavor(deps) },
  { method: "GET", path: "/flavors", answer: listFlavors(deps, false) },
  { method: "GET", path: "/flavors/detail", answer: listFlavors(deps, true) },
  {
    method: "GET",
    path: "/flavors/:flavor",
    answer: (call) => ({ body: { flavor: flavorDetail(findFlavor(deps, call), call.version, call.links) } }),
  },
  { method: "PUT", path: "/flavors/:flavor", from: 55, answer: updateFlavor(deps) },
  {
    method: "DELETE",
    path: "/flavors/:flavor",
    answer: (call) => {
      requireAdmin(call, "os_compute_api:os-flavor-manage:delete");
      deps.store.flavors.destroy(findFlavor(deps, call).flavorid);
      return { status: 202 };
    },
  },
  ...flavorAccessRoutes(deps),
  ...extraSpecRoutes(deps),
];
