import type { Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { METADATA } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { askImages, findImage, type ImageDocument, pathOf } from "./image-service.js";
import { metadataOf } from "./image-view.js";

type Metadata = Readonly<Record<string, string>>;

/** Nova kept these three versions longer than its other proxies of images. */
const UNTIL = 38;

const ALL = schemas<{ readonly metadata: Metadata }>([
  1,
  { type: "object", properties: { metadata: METADATA }, required: ["metadata"], additionalProperties: false },
]);
const ONE = schemas<{ readonly meta: Metadata }>([
  1,
  {
    type: "object",
    properties: { meta: { ...METADATA, minProperties: 1, maxProperties: 1 } },
    required: ["meta"],
    additionalProperties: false,
  },
]);

/** Makes the image's properties these, and no others. @throws {Fault} 400, 403, 404 */
async function replace(
  deps: ComputeDeps,
  call: Call,
  update: (metadata: Metadata) => Metadata,
): Promise<{ readonly metadata: Metadata }> {
  const before = metadataOf(await findImage(deps, call));
  const after = update(before);
  const body = [
    ...Object.keys(before)
      .filter((name) => !Object.hasOwn(after, name))
      .map((name) => ({ op: "remove", path: pointer(name) })),
    ...Object.entries(after)
      .filter(([name, value]) => before[name] !== value)
      .map(([name, value]) => ({ op: "add", path: pointer(name), value })),
  ];
  const image = await askImages(deps, call, { method: "PATCH", path: pathOf(call), body });
  return { metadata: metadataOf(image as ImageDocument) };
}

const pointer = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

export const IMAGE_METADATA_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/images/:id/metadata",
    until: UNTIL,
    handle: async (deps, call) => ({ body: { metadata: metadataOf(await findImage(deps, call)) } }),
  },
  {
    method: "POST",
    path: "/images/:id/metadata",
    until: UNTIL,
    handle: async (deps, call) => {
      const { metadata: added } = call.body(ALL);
      return { body: await replace(deps, call, (metadata) => ({ ...metadata, ...added })) };
    },
  },
  {
    method: "PUT",
    path: "/images/:id/metadata",
    until: UNTIL,
    handle: async (deps, call) => {
      const { metadata: requestedMetadata } = call.body(ALL);
      return { body: await replace(deps, call, () => requestedMetadata) };
    },
  },
  {
    method: "GET",
    path: "/images/:id/metadata/:key",
    until: UNTIL,
    handle: async (deps, call) => {
      const key = call.param("key");
      const { [key]: value } = metadataOf(await findImage(deps, call));
      if (value === undefined) {
        throw notFound();
      }
      return { body: { meta: { [key]: value } } };
    },
  },
  {
    method: "PUT",
    path: "/images/:id/metadata/:key",
    until: UNTIL,
    handle: async (deps, call) => {
      const { meta } = call.body(ONE);
      if (!Object.hasOwn(meta, call.param("key"))) {
        throw badRequest("Request body and URI mismatch");
      }
      await replace(deps, call, (metadata) => ({ ...metadata, ...meta }));
      return { body: { meta } };
    },
  },
  {
    method: "DELETE",
    path: "/images/:id/metadata/:key",
    until: UNTIL,
    handle: async (deps, call) => {
      const key = call.param("key");
      await replace(deps, call, ({ [key]: value, ...others }) => {
        if (value === undefined) {
          throw notFound("Invalid metadata key");
        }
        return others;
      });
      return { status: 204 };
    },
  },
];
