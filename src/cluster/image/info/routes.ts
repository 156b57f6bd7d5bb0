import { json } from "../../http/responses.js";
import type { ImageCall, ImageRoute } from "../api/call.js";
import { notFound } from "../api/fault.js";
import { IMPORT_METHODS } from "../data/import-methods.js";

/** What this service can do. */
export const INFO_ROUTES: readonly ImageRoute[] = [
  {
    method: "GET",
    path: "/v2/info/import",
    answer: () =>
      json(200, {
        "import-methods": { description: "Import methods available.", type: "array", value: IMPORT_METHODS },
      }),
  },
  { method: "GET", path: "/v2/info/stores", answer: oneStore },
  { method: "GET", path: "/v2/info/stores/detail", answer: oneStore },
  { method: "GET", path: "/v2/info/usage", answer: () => json(200, { usage: {} }) },
];

function oneStore(_call: ImageCall): never {
  throw notFound("Multi backend is not supported at this site.");
}
