/** Parameters and result of one remote method, for the type system only. */
export interface Method<P, R> {
  readonly params: P;
  readonly result: R;
}

export type ParamsOf<T, M extends keyof T> = T[M] extends Method<infer P, unknown> ? P : never;
export type ResultOf<T, M extends keyof T> = T[M] extends Method<unknown, infer R> ? R : never;
