import { PublicError } from "../runtime/public-error.js";

/** Faults on purpose, set from outside while the process runs. Points are named: `driver.spawn`, `agent.resize_instance.move`. */
export interface Faults {
  /**
   * Acts out what is set for the point: returns at once when nothing is.
   * @throws {FaultInjected} or the signal's reason, when it is aborted in a wait.
   */
  hit(point: string, signal?: AbortSignal): Promise<void>;
  /** Takes what is set for the point, counted as used; the caller acts it out. */
  decide(point: string): FaultAction | undefined;
}

/** What happens at a point. Times are milliseconds. */
export type FaultAction =
  /** An error instead of the work; `error` names its class, else it is a {@link FaultInjected}. */
  | { readonly kind: "fail"; readonly error?: string }
  /** Nothing happens for so long; null: for ever. */
  | { readonly kind: "hang"; readonly milliseconds: number | null }
  /** The work begins so much later. */
  | { readonly kind: "slow"; readonly milliseconds: number }
  /** The work is done, and its answer lost. */
  | { readonly kind: "lose-answer" }
  /** An HTTP answer of this status instead of the work. */
  | { readonly kind: "status"; readonly status: number }
  /** No service listens. */
  | { readonly kind: "refuse" }
  /** No connection is possible, and open ones break, for so long; null: until it is cleared. */
  | { readonly kind: "partition"; readonly milliseconds: number | null };

/** The error of a fault that was set on purpose. */
export class FaultInjected extends PublicError {
  /** `FaultInjected`, or the class that the fault names. */
  override readonly name: string;
  readonly point: string;

  constructor(point: string, name = "FaultInjected") {
    super(`${point} fails because a fault is set for it; compute-cluster fault clear takes it away`);
    this.point = point;
    this.name = name;
  }
}

/** Faults that tell when they change. */
export interface ChangingFaults extends Faults {
  /** What is set for the point now, not counted as used. */
  peek(point: string): FaultAction | undefined;
  /** Returns what stops it. */
  onChange(listener: () => void): () => void;
}
