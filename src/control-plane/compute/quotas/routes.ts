import type { ComputeRoute } from "../api/call.js";
import { limits } from "./limits.js";
import { showClass, updateClass } from "./quota-classes.js";
import { deleteSet, showDefaults, showDetail, showSet, updateSet } from "./quota-sets.js";

/** What projects and users may have, and what they have. */
export const QUOTA_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/limits", answer: limits },
  { method: "GET", path: "/os-quota-sets/:project", answer: showSet },
  { method: "PUT", path: "/os-quota-sets/:project", answer: updateSet },
  { method: "DELETE", path: "/os-quota-sets/:project", answer: deleteSet },
  { method: "GET", path: "/os-quota-sets/:project/defaults", answer: showDefaults },
  { method: "GET", path: "/os-quota-sets/:project/detail", answer: showDetail },
  { method: "GET", path: "/os-quota-class-sets/:name", answer: showClass },
  { method: "PUT", path: "/os-quota-class-sets/:name", answer: updateClass },
];
