import { badRequest, type HttpError } from "../http/http-error.js";
import { routes } from "../http/router.js";
import { schemas } from "../http/schemas.js";
import type { Call, ComputeRoute } from "./api/call.js";
import { bodyOf, METADATA } from "./api/schema-parts.js";

export type Metadata = Readonly<Record<string, string>>;

/** A kind of resources with metadata. */
interface MetadataResource {
  /** `/servers/:id/metadata` */
  readonly prefix: string;
  readonly until?: number;
  /** @param rule last word of the policy */
  readonly read: (call: Call, rule: "index" | "show") => Metadata | Promise<Metadata>;
  /** Saves changed metadata and returns it. */
  readonly save: (
    call: Call,
    rule: "create" | "update_all" | "update" | "delete",
    change: (metadata: Metadata) => Metadata,
  ) => Metadata | Promise<Metadata>;
  /** Creates the error for a missing item. */
  readonly missing: (rule: "show" | "delete") => HttpError;
}

const ALL = schemas<{ readonly metadata: Metadata }>([1, bodyOf("metadata", METADATA)]);
const ONE = schemas<{ readonly meta: Metadata }>([
  1,
  bodyOf("meta", { ...METADATA, minProperties: 1, maxProperties: 1 }),
]);

/** Creates the routes of the metadata of one resource. */
export function metadataRoutes({ read, save, missing, ...common }: MetadataResource): readonly ComputeRoute[] {
  return routes<ComputeRoute>(
    {
      "GET /": async (call) => ({ body: { metadata: await read(call, "index") } }),
      "POST /": async (call) => {
        const { metadata: added } = call.body(ALL);
        return { body: { metadata: await save(call, "create", (metadata) => ({ ...metadata, ...added })) } };
      },
      "PUT /": async (call) => {
        const { metadata: requested } = call.body(ALL);
        return { body: { metadata: await save(call, "update_all", () => requested) } };
      },
      "GET /:key": async (call) => {
        const key = call.param("key");
        const metadata = await read(call, "show");
        if (!Object.hasOwn(metadata, key)) {
          throw missing("show");
        }
        return { body: { meta: { [key]: metadata[key] ?? "" } } };
      },
      "PUT /:key": async (call) => {
        const { meta } = call.body(ONE);
        if (!Object.hasOwn(meta, call.param("key"))) {
          throw badRequest("Request body and URI mismatch");
        }
        await save(call, "update", (metadata) => ({ ...metadata, ...meta }));
        return { body: { meta } };
      },
      "DELETE /:key": async (call) => {
        const key = call.param("key");
        await save(call, "delete", (metadata) => {
          if (!Object.hasOwn(metadata, key)) {
            throw missing("delete");
          }
          return Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== key));
        });
        return { status: 204 };
      },
    },
    common,
  );
}
