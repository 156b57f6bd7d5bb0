import { Null, type Static, type TObject, type TSchema, type TUnsafe, Unsafe } from "typebox";
import type { FieldMap } from "../../records/field.js";

/** Parameters and result of one remote method, for the type system only. */
interface Method<P, R> {
  readonly params: P;
  readonly result: R;
}

export type ParamsOf<T, M extends keyof T> = T[M] extends Method<infer P, unknown> ? P : never;
export type ResultOf<T, M extends keyof T> = T[M] extends Method<unknown, infer R> ? R : never;

/**
 * How a method is performed, and how it is handled when it is sent again because its response was lost.
 *  The conductor's:
 * - `reads`: reads the records. Sent again, it reads again.
 * - `sets`: sets the conductor's state of a connection or a host. Sent again, it sets it again.
 * - `writes`: stores effect and response in one transaction. Sent again, it returns the first response.
 * - `waits`: waits for something other than records; pending meanwhile. Sent again, it is performed again.
 * - `asks`: calls another agent and waits for it. Sent again, it returns the first response, or waits for it.
 *  The agent's:
 * - `cast`: the conductor stores it until the agent has accepted it; the agent performs it once. Its end is not awaited.
 * - `call`: needs an agent that serves the host. Sent again, it returns the first response, or waits for it.
 * - `castOrCall`: either, as the caller chooses.
 */
export type MethodKind = "reads" | "sets" | "writes" | "waits" | "asks" | "cast" | "call" | "castOrCall";

/**
 * One remote method in the table of the peer that implements it. The types of both peers, the validation and the dispatch
 * are derived from it.
 * @public for declarations
 */
export interface RemoteMethod<K extends MethodKind, F extends FieldMap, R extends TSchema> {
  readonly kind: K;
  /** Parameters by name: exactly these fields. */
  readonly params: F;
  readonly result: R;
}

export type RemoteMethods = Readonly<Record<string, RemoteMethod<MethodKind, FieldMap, TSchema>>>;

/** The parameters and results of a table's methods. */
export type MethodsOf<T extends RemoteMethods> = {
  readonly [M in keyof T]: Method<Static<TObject<T[M]["params"]>>, Static<T[M]["result"]>>;
};

/** The names of a table's methods of one of these kinds. */
export type NamesOfKind<T extends RemoteMethods, K extends MethodKind> = {
  [M in keyof T]: T[M]["kind"] extends K ? M : never;
}[keyof T];

/** The result of a method that returns null. */
export const nothing = Null();

/** A result from a trusted sender: it has a type, and is not validated. */
export function trusted<R>(): TUnsafe<R> {
  return Unsafe<R>({});
}

/** Returns the function that creates methods of this kind. */
function methodsOf<const K extends MethodKind>(kind: K) {
  return <const F extends FieldMap, const R extends TSchema>(params: F, result: R): RemoteMethod<K, F, R> => ({
    kind,
    params,
    result,
  });
}

export const reads = methodsOf("reads");
export const sets = methodsOf("sets");
export const writes = methodsOf("writes");
export const waits = methodsOf("waits");
export const queries = methodsOf("asks");
export const call = methodsOf("call");

export function cast<const F extends FieldMap>(params: F) {
  return methodsOf("cast")(params, nothing);
}

export function castOrCall<const F extends FieldMap>(params: F) {
  return methodsOf("castOrCall")(params, nothing);
}
