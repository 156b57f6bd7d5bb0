import type { ImageRoute } from "./api/call.js";
import { DATA_ROUTES } from "./data/routes.js";
import { IMAGE_ROUTES } from "./images/routes.js";
import { INFO_ROUTES } from "./info/routes.js";
import { MEMBER_ROUTES } from "./members/routes.js";
import { METADEF_ROUTES } from "./metadefs/routes.js";
import { SCHEMA_ROUTES } from "./schemas/routes.js";

/** All of the API, by resource. */
export const IMAGE_API_ROUTES: readonly ImageRoute[] = [
  ...SCHEMA_ROUTES,
  ...IMAGE_ROUTES,
  ...DATA_ROUTES,
  ...MEMBER_ROUTES,
  ...INFO_ROUTES,
  ...METADEF_ROUTES,
];
