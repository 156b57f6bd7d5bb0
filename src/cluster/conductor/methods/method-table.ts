import type { ParamsOf, ResultOf } from "../../../conductor/methods/method.js";
import type { Caller } from "../caller.js";

/**
 * How a method is carried out. One that writes is synchronous: its effect and its answer are stored in one transaction,
 * which makes it exactly-once. One that waits for somebody else counts as under way meanwhile. One that asks another agent
 * waits too; repeated, it gets the answer of the first time, or waits for that.
 */
export type Handler<P, R> =
  | { readonly kind: "writes" | "reads"; readonly run: (params: P, caller: Caller) => R }
  | { readonly kind: "waits" | "asks"; readonly run: (params: P, caller: Caller) => Promise<R> };

export type MethodTable<T, M extends keyof T> = { readonly [K in M]: Handler<ParamsOf<T, K>, ResultOf<T, K>> };

export function writes<P, R>(run: (params: P, caller: Caller) => R): Handler<P, R> {
  return { kind: "writes", run };
}

export function reads<P, R>(run: (params: P, caller: Caller) => R): Handler<P, R> {
  return { kind: "reads", run };
}

export function waits<P, R>(run: (params: P, caller: Caller) => Promise<R>): Handler<P, R> {
  return { kind: "waits", run };
}

export function asks<P, R>(run: (params: P, caller: Caller) => Promise<R>): Handler<P, R> {
  return { kind: "asks", run };
}
