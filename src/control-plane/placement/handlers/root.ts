import type { Call, HandlerResponse } from "../http/call.js";
import { MAX_MINOR } from "../http/microversion.js";

const DOCUMENT = JSON.stringify({
  versions: [
    {
      id: "v1.0",
      max_version: `1.${MAX_MINOR}`,
      min_version: "1.0",
      status: "CURRENT",
      links: [{ rel: "self", href: "" }],
    },
  ],
});

/** The version document. */
export function home(call: Call): HandlerResponse {
  return { body: DOCUMENT, modified: call.unit.now };
}
