import type { ConductorMethod, ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf, ResultOf } from "../../conductor-client/methods/method.js";
import type { MessageScopes } from "../messages/message-scope.js";
import type { Rpc } from "../messages/rpc.js";
import type { KnownRows } from "./known-rows.js";
import type { AskOptions, NovaConductor } from "./nova-conductor.js";

/** What a call of the port is carried out with. */
export interface CallTools {
  readonly nova: NovaConductor;
  readonly rpc: Rpc;
  readonly rows: KnownRows;
  readonly scopes: MessageScopes;
  /** The host that calls. */
  readonly host: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** What the caller of the port asked for. */
  readonly options: AskOptions;
}

/** How methods of the port are asked of a real Nova. */
export type ConductorCalls<M extends ConductorMethod> = {
  readonly [N in M]: (
    params: ParamsOf<ConductorMethods, N>,
    tools: CallTools,
  ) => Promise<ResultOf<ConductorMethods, N>>;
};
