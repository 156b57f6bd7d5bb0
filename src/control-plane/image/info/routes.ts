import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import { type ImageCall, type ImageRoute, NO_CONTENT } from "../api/call.js";
import { conflict, forbidden } from "../api/fault.js";
import { requirePolicy } from "../api/policy.js";
import { IMPORT_METHODS } from "../data/import-methods.js";
import { findOwnImage } from "../images/find-image.js";
import { imageUsage } from "../quotas.js";
import { checkStore, DEFAULT_STORE, STORES, without } from "../stores.js";

/** What this service can do, and the stores that it has. */
export const INFO_ROUTES: readonly ImageRoute[] = [
  {
    method: "GET",
    path: "/v2/info/import",
    handle: () =>
      json(200, {
        "import-methods": { description: "Import methods available.", type: "array", value: IMPORT_METHODS },
      }),
  },
  { method: "GET", path: "/v2/info/stores", handle: () => json(200, { stores: STORES.map(storeView) }) },
  {
    method: "GET",
    path: "/v2/info/stores/detail",
    handle: ({ caller }) => {
      requirePolicy(caller, "stores_info_detail");
      return json(200, { stores: STORES.map((store) => ({ ...storeView(store), type: "file", properties: {} })) });
    },
  },
  { method: "GET", path: "/v2/info/usage", handle: (call) => json(200, { usage: imageUsage(call) }) },
  { method: "DELETE", path: "/v2/stores/:store/:id", handle: removeFromStore },
];

function storeView({ id, description }: (typeof STORES)[number]): Readonly<Record<string, string>> {
  return {
    id,
    description,
    ...(id === DEFAULT_STORE ? { default: "true" } : {}),
  };
}

function removeFromStore(call: ImageCall): ServiceResponse {
  const store = checkStore(call.param("store"));
  const image = findOwnImage(call, "delete_image_location", { missing: (id) => `Failed to find image ${id}` });
  if (image.status !== "active") {
    throw conflict("It's not allowed to remove image data from store if image status is not 'active'");
  }
  const stores = without(image, store);
  if (stores.length === 0) {
    throw forbidden("Cannot delete image data from the only store containing it. Consider deleting the image instead.");
  }
  call.store.table.change(image.id, ["active"], { stores });
  return NO_CONTENT;
}
