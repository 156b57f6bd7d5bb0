/** Waiting. In tests the virtual implementation moves time instead of waiting for it. */
export interface Timers {
  /**
   * Resolves after `milliseconds`.
   * @throws the signal's reason when `signal` is aborted before that.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `action` once after `milliseconds`; returns what cancels it. Errors of `action` are the caller's to catch. */
  after(milliseconds: number, action: () => void): CancelTimer;
}

export type CancelTimer = () => void;
