import type {
  MethodKind,
  MethodsOf,
  ParamsOf,
  RemoteMethods,
  ResultOf,
} from "../../../conductor-client/methods/method.js";
import type { Caller } from "../caller.js";

/** What is still under way when its handler returns. */
type Lasting = "waits" | "asks";

/** What carries out the methods of a table. A handler of one that writes is synchronous: it runs in a transaction. */
export type HandlersOf<T extends RemoteMethods> = {
  readonly [M in keyof T]: (
    params: ParamsOf<MethodsOf<T>, M>,
    caller: Caller,
  ) => MethodResult<T[M]["kind"], ResultOf<MethodsOf<T>, M>>;
};

type MethodResult<K extends MethodKind, R> = K extends Lasting ? Promise<R> : R;
