import type { Json } from "../../http/json.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { readPage } from "../api/paging.js";
import { IMAGE_METADATA_ROUTES } from "./image-metadata.js";
import { askImages, findImage, type ImageDocument, pathOf } from "./image-service.js";
import { imageBrief, imageDetail } from "./image-view.js";

/** Since 2.36 Nova speaks for no other service. */
const UNTIL = 35;

/** Filters by the Image service's names for them. */
const FILTERS: Readonly<Record<string, string>> = {
  name: "name",
  status: "status",
  "changes-since": "updated_at",
  server: "instance_uuid",
  type: "image_type",
  minRam: "min_ram",
  minDisk: "min_disk",
};
const OF_PROPERTY = "property-";

function filtersOf(call: Call): [string, string][] {
  return [...call.query.lists()].flatMap(([name, values]) => {
    const value = values.at(-1) ?? "";
    if (name.startsWith(OF_PROPERTY)) {
      return [[name.slice(OF_PROPERTY.length), value]];
    }
    const theirs = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    return theirs === undefined ? [] : [[theirs, valueFor(name, value)]];
  });
}

/** A server may be named by its link. */
function valueFor(name: string, value: string): string {
  if (name === "changes-since") {
    return `gte:${value}`;
  }
  if (name === "server") {
    return value.replace(/^.*\//, "");
  }
  return name === "status" ? value.toLowerCase() : value;
}

/** @throws {Fault} 400 */
async function list(deps: ComputeDeps, call: Call, path: string, show: typeof imageBrief | typeof imageDetail) {
  const { limit, marker } = readPage(call);
  const query = new URLSearchParams(filtersOf(call));
  query.set("limit", String(limit));
  if (marker !== undefined) {
    query.set("marker", marker);
  }
  const { images } = (await askImages(deps, call, { method: "GET", path: "", query })) as {
    readonly images: readonly ImageDocument[];
  };
  const last = images.length === limit ? images.at(-1) : undefined;
  const links = last === undefined ? {} : { images_links: call.links.next(path, call.query, last.id) };
  const views: readonly Json[] = images.map((image) => show(call, image));
  return { body: { images: views, ...links } };
}

async function show(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  return { body: { image: imageDetail(call, await findImage(deps, call)) } };
}

async function remove(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  await askImages(deps, call, { method: "DELETE", path: pathOf(call) });
  return { status: 204 };
}

/** Nova's proxy of the Image service, for clients of old versions. */
export const IMAGE_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/images", until: UNTIL, handle: (deps, call) => list(deps, call, "images", imageBrief) },
  {
    method: "GET",
    path: "/images/detail",
    until: UNTIL,
    handle: (deps, call) => list(deps, call, "images/detail", imageDetail),
  },
  { method: "GET", path: "/images/:id", until: UNTIL, handle: show },
  { method: "DELETE", path: "/images/:id", until: UNTIL, handle: remove },
  ...IMAGE_METADATA_ROUTES,
];
