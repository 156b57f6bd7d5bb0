import { type Static, type TSchema, type TUnsafe, Type } from "typebox";
import type { Attribute, AttributeType, RecordOf, StoredResource, ValueOf } from "../../resources/resource.js";

/** The type of an attribute, with the schema of its values in bodies. */
export interface IdentityType<T = unknown> extends AttributeType<T> {
  readonly schema: TUnsafe<T>;
}

/** An attribute of the Identity API. Clients may add further ones to most records. */
interface IdentityAttribute<T = unknown> extends Attribute<T> {
  readonly type: IdentityType<T>;
  /** Whether a POST may, or must, contain it, and whether a PATCH may. */
  readonly post?: boolean | "required";
  readonly patch?: boolean;
  /** Whether filters compare its case. */
  readonly isCaseSensitive?: true;
}

export type IdentityAttributeMap = Readonly<Record<string, IdentityAttribute>>;

/** A record as the API returns it, without links. */
export interface StoredRecord {
  readonly id: string;
}

export type IdentityRecord<M extends IdentityAttributeMap> = RecordOf<M> & StoredRecord;

export type RecordIn<D> = D extends IdentityResource<infer M> ? IdentityRecord<M> : never;

/** A resource of the Identity API. Its routes, checks of bodies, filters and records follow from it. */
export interface IdentityResource<M extends IdentityAttributeMap = IdentityAttributeMap> extends StoredResource<M> {
  /** Key of lists, and part of names of policies: `users`. */
  readonly collection: string;
  readonly singular: string;
  /** Default: `/v3/<collection>`. */
  readonly path?: string;
  /** Whether bodies may contain described attributes only. */
  readonly isClosed?: true;
}

/** Defines a resource whose table the schema steps create: each record is a document with an id. */
export function defineResource<const M extends IdentityAttributeMap>(
  resource: Omit<IdentityResource<M>, "table" | "document">,
): IdentityResource<M> {
  return { table: `identity_${resource.collection}`, ...resource, document: "body" };
}

/** The attributes of a POST. */
export type CreateOf<M extends IdentityAttributeMap> = {
  readonly [K in keyof M as M[K] extends { readonly post: "required" } ? K : never]: ValueOf<M[K]>;
} & {
  readonly [K in keyof M as M[K] extends { readonly post: true } ? K : never]?: ValueOf<M[K]>;
};

/** The attributes of a PATCH. */
export type UpdateOf<M extends IdentityAttributeMap> = {
  readonly [K in keyof M as M[K] extends { readonly patch: true } ? K : never]?: ValueOf<M[K]>;
};

/** Returns the schema of a POST body. Unknown members are stored with the record, as in Keystone. */
export function createSchema<M extends IdentityAttributeMap>(resource: IdentityResource<M>) {
  const properties = Object.entries(resource.attributes).flatMap(([name, { type, post }]) =>
    post ? [[name, post === "required" ? type.schema : Type.Optional(type.schema)]] : [],
  );
  const schema = Type.Object(Object.fromEntries(properties), resource.isClosed ? { additionalProperties: false } : {});
  return Type.Unsafe<CreateOf<M>>(schema);
}

/** Returns the schema of a PATCH body: at least one member. */
export function updateSchema<M extends IdentityAttributeMap>(resource: IdentityResource<M>) {
  const changeable = Object.entries(resource.attributes).filter(([, { patch }]) => patch);
  const schema = Type.Partial(
    Type.Object(Object.fromEntries(changeable.map(([name, { type }]) => [name, type.schema]))),
    resource.isClosed ? { additionalProperties: false } : { minProperties: 1 },
  );
  return Type.Unsafe<UpdateOf<M>>(schema);
}

/** Creates a type whose values a schema checks. */
export function typeOf<S extends TSchema>(schema: S): IdentityType<Static<S>> {
  return { column: "text", schema: Type.Unsafe(schema) };
}
