import { badRequest, notFound } from "../../http/http-error.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import type { BlockStorageCall, BlockStorageRoute } from "./block-storage-call.js";
import { bodyOf, METADATA, ONE } from "./schema-parts.js";

type Metadata = Readonly<Record<string, string>>;

/** The metadata of a resource's records: `/volumes/{id}/metadata`. */
interface MetadataDescription<R> {
  /** `/volumes/:parent/metadata` */
  readonly path: string;
  /** `Volume x has no metadata with key y.` */
  readonly title: string;
  readonly rules: Readonly<Record<"get" | "create" | "update" | "delete", string>>;
  readonly find: (call: BlockStorageCall, id: string) => R & { readonly id: string; readonly project_id: string };
  readonly read: (record: R) => Metadata;
  readonly save: (call: BlockStorageCall, record: R, metadata: Metadata) => void;
  /** Whether bodies of items may lack a schema, as those of snapshots. */
  readonly assertWritable?: (record: R) => void;
}

const ALL: SchemaVersions<{ readonly metadata: Metadata }> = schemas([0, bodyOf("metadata", METADATA)]);
const ITEM: SchemaVersions<{ readonly meta: Metadata }> = schemas([0, bodyOf("meta", { ...METADATA, ...ONE })]);

/** Creates the routes of a resource's metadata. */
export function metadataRoutes<R>(description: MetadataDescription<R>): readonly BlockStorageRoute[] {
  const { path, title, rules, find, read, save, assertWritable } = description;
  const parent = (call: BlockStorageCall, rule: keyof typeof rules) => {
    const record = find(call, call.param("parent"));
    call.context.authorize(rules[rule], record);
    if (rule !== "get") {
      assertWritable?.(record);
    }
    return record;
  };
  const requireKey = (record: R & { readonly id: string }, key: string): string => {
    const value = read(record)[key];
    if (value === undefined) {
      throw notFound(`${title} ${record.id} has no metadata with key ${key}.`);
    }
    return value;
  };
  return [
    { method: "GET", path, handle: (call) => ({ body: { metadata: read(parent(call, "get")) } }) },
    {
      method: "POST",
      path,
      body: ALL,
      handle: (call) => {
        const { metadata } = call.body(ALL);
        const record = parent(call, "create");
        const merged = { ...read(record), ...metadata };
        save(call, record, merged);
        return { body: { metadata: merged } };
      },
    },
    {
      method: "PUT",
      path,
      body: ALL,
      handle: (call) => {
        const { metadata } = call.body(ALL);
        save(call, parent(call, "update"), metadata);
        return { body: { metadata } };
      },
    },
    {
      method: "GET",
      path: `${path}/:key`,
      handle: (call) => {
        const key = call.param("key");
        return { body: { meta: { [key]: requireKey(parent(call, "get"), key) } } };
      },
    },
    {
      method: "PUT",
      path: `${path}/:key`,
      body: ITEM,
      handle: (call) => {
        const { meta } = call.body(ITEM);
        const key = call.param("key");
        if (!Object.hasOwn(meta, key)) {
          throw badRequest("Request body and URI mismatch");
        }
        const record = parent(call, "update");
        save(call, record, { ...read(record), ...meta });
        return { body: { meta } };
      },
    },
    {
      method: "DELETE",
      path: `${path}/:key`,
      handle: (call) => {
        const record = parent(call, "delete");
        const key = call.param("key");
        requireKey(record, key);
        const { [key]: _removed, ...rest } = read(record);
        save(call, record, rest);
        return {};
      },
    },
  ];
}
