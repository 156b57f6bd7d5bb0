import type { ParamsOf, ResultOf } from "../../../conductor/methods.js";
import type { Caller } from "../caller.js";

/**
 * How a method is carried out. One that writes is synchronous: its effect and its answer are stored in one transaction,
 * which makes it exactly-once.
 */
export type Handler<P, R> =
  | { readonly writes: true; readonly run: (params: P, caller: Caller) => R }
  | { readonly writes: false; readonly run: (params: P, caller: Caller) => R | Promise<R> };

export type MethodTable<T, M extends keyof T> = { readonly [K in M]: Handler<ParamsOf<T, K>, ResultOf<T, K>> };

export function writes<P, R>(run: (params: P, caller: Caller) => R): Handler<P, R> {
  return { writes: true, run };
}

export function reads<P, R>(run: (params: P, caller: Caller) => R | Promise<R>): Handler<P, R> {
  return { writes: false, run };
}
