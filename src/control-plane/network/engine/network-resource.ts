import type { Json } from "../../http/json.js";
import type { Attribute, AttributeType, InputOf, RecordOf, StoredResource } from "../../resources/resource.js";

/** Default of an attribute that is absent unless the request names it (Neutron's `ATTR_NOT_SPECIFIED`). */
export const NOT_SPECIFIED = Symbol("not specified");

/** The type of an attribute, with Neutron's names of its validator and converters. */
export interface NetworkType<T = unknown> extends AttributeType<T> {
  /** `type:string` */
  readonly validator?: string;
  /** The validator's parameter, such as the max length. */
  readonly parameter?: unknown;
  /** `convert_to_boolean` */
  readonly converter?: string;
  /** A converter of each member of a list. */
  readonly listConverter?: string;
}

/** An attribute of the Network API, as Neutron's attribute maps describe it. */
export interface NetworkAttribute<T = unknown> extends Attribute<T> {
  readonly type: NetworkType<T>;
  /** Whether a create, and an update, may contain it. */
  readonly post?: boolean;
  readonly put?: boolean;
  /** The value if a create does not contain it. An attribute with `post` and without a default is required. */
  readonly default?: Json | typeof NOT_SPECIFIED;
  /** Whether requests with it, and its visibility, have a policy of their own (`create_network:shared`); `get`: only its visibility. */
  readonly policy?: boolean | "get";
  /** Whether policies need it, so that it is in their target even if the request does not contain it. */
  readonly requiredByPolicy?: boolean;
  /** Whether responses contain it. Default: true. */
  readonly visible?: false;
  /** Alias of the extension that adds it. Default: the resource's. */
  readonly extension?: string;
}

export type NetworkAttributeMap = Readonly<Record<string, NetworkAttribute>>;

export type Operation = "list" | "show" | "create" | "update" | "delete";

/** A resource of the Network API. Routes, checks, filters, policies, the table and the reference page follow from it. */
export interface NetworkResource<M extends NetworkAttributeMap = NetworkAttributeMap> extends StoredResource<M> {
  /** Key of lists: `security_groups`. */
  readonly collection: string;
  /** Key of a single record, and the name in policies: `security_group`. */
  readonly singular: string;
  /** `/v2.0/security-groups`, with the parent's id: `/v2.0/floatingips/:floatingip_id/port_forwardings`. */
  readonly path: string;
  /** Prefix of its extension's paths, which requests may leave out: `/v2.0/policies` is `/v2.0/qos/policies`. */
  readonly prefix?: "qos" | "metering" | "log";
  /** The attribute that paths name a record by: `/v2.0/ports/{port_id}/bindings/{host}`. Default: `id`. */
  readonly key?: string;
  /** Alias of its extension: `security-group`. */
  readonly extension: string;
  readonly attributes: M;
  /** The name in policies if it is not `singular`: `floatingip_port_forwarding`. */
  readonly policyName?: string;
  /** Neutron's exception for an unknown id. Default message: `<Singular> <id> could not be found.` */
  readonly notFound: { readonly type: string; readonly message?: (id: string, parentId?: string) => string };
  /** Default: all. */
  readonly operations?: readonly Operation[];
  readonly parent?: Parent;
  /** The kind of its RBAC policies (`network`), which make it visible to other projects. */
  readonly rbac?: RbacKind;
  readonly quota?: { readonly name: string; readonly default: number };
  /** Whether lists obey the parameters of sorting and pages. Default: true. */
  readonly isPaged?: false;
  /** Attributes that responses contain even if `fields` names others. */
  readonly unfiltered?: readonly string[];
  /** Whether `/{collection}/{id}/tags` exists. */
  readonly tagged?: boolean;
  /** Member actions by name: `PUT /routers/{id}/add_router_interface`. */
  readonly actions?: Readonly<Record<string, "PUT" | "GET">>;
}

/** The resource that a sub-resource belongs to. */
export interface Parent {
  /** Collection of the parent: `floatingips`. */
  readonly collection: string;
  /** The attribute with the parent's id: `floatingip_id`. It is a parameter of the path, unless the path has no parent. */
  readonly attribute: string;
  /** Whether requests with its id in their path look it up first, and whether the caller must see it. Default: true. */
  readonly isRequired?: false;
}

export interface RbacKind {
  readonly objectType: string;
  /** Actions that its policies may name; the first is that of `shared`. */
  readonly actions: readonly string[];
}

/** Defines a resource. Only the types matter: it keeps those of the attributes. */
export function defineResource<const M extends NetworkAttributeMap>(resource: NetworkResource<M>): NetworkResource<M> {
  return resource;
}

export type NetworkRecord<D> = D extends NetworkResource<infer M> ? RecordOf<M> : never;

export type NetworkInput<D> = D extends NetworkResource<infer M> ? InputOf<M> : never;
