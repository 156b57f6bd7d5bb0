import type { ComputeRoute } from "../api/call.js";
import { limits } from "./limits.js";
import { showClass, updateClass } from "./quota-classes.js";
import { deleteSet, showDefaults, showDetail, showSet, updateSet } from "./quota-sets.js";

/** What projects and users may have, and what they have. */
export const QUOTA_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/limits", handle: limits },
  { method: "GET", path: "/os-quota-sets/:project", handle: showSet },
  { method: "PUT", path: "/os-quota-sets/:project", handle: updateSet },
  { method: "DELETE", path: "/os-quota-sets/:project", handle: deleteSet },
  { method: "GET", path: "/os-quota-sets/:project/defaults", handle: showDefaults },
  { method: "GET", path: "/os-quota-sets/:project/detail", handle: showDetail },
  { method: "GET", path: "/os-quota-class-sets/:name", handle: showClass },
  { method: "PUT", path: "/os-quota-class-sets/:name", handle: updateClass },
];
