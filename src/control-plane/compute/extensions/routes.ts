import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { notFound } from "../api/fault.js";
import { EXTENSIONS } from "./extension-list.js";

/** For everybody; nothing depends on them any more, but old clients look here for what there is. */
export const EXTENSION_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/extensions", handle: listExtensions },
  { method: "GET", path: "/extensions/:alias", handle: showExtension },
];

function listExtensions(_deps: ComputeDeps, { legacy }: Call): ComputeResponse {
  return { body: { extensions: extensions(legacy).map(extensionView) } };
}

/** @throws {Fault} 404 */
function showExtension(_deps: ComputeDeps, call: Call): ComputeResponse {
  const requestedAlias = call.param("alias");
  const found = extensions(call.legacy).find(([alias]) => alias === requestedAlias);
  if (!found) {
    throw notFound();
  }
  return { body: { extension: extensionView(found) } };
}

type Extension = (typeof EXTENSIONS)[number];

const OF_V2: Extension = [
  "OS-EXT-VIF-NET",
  "ExtendedVIFNet",
  "Adds network id parameter to the virtual interface list.",
];

/** `/v2` has one more. */
function extensions(legacy: boolean): readonly Extension[] {
  return legacy ? [...EXTENSIONS, OF_V2].toSorted(([one], [other]) => (one < other ? -1 : 1)) : EXTENSIONS;
}

function extensionView([alias, name, description]: Extension) {
  return {
    alias,
    description,
    links: [],
    name,
    namespace: "http://docs.openstack.org/compute/ext/fake_xml",
    updated: "2014-12-03T00:00:00Z",
  };
}
