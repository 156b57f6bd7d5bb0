/** What happens to a message: `returned`: no queue took it; `retried`: it was sent again. */
type MessageEvent = "in" | "out" | "returned" | "retried";

/**
 * Counts the messages of a connection to a real Nova. Of a message it gets the name of its method, one of a bounded number, and
 * nothing else. Must not throw.
 */
export interface MessageObserver {
  /** @param count default 1; 0: it may happen from now on */
  message(event: MessageEvent, method: string, count?: number): void;
  /** A call has begun to be waited for, or is no longer. */
  waitedFor(method: string, change: 1 | -1): void;
}

export const NO_OBSERVER: MessageObserver = Object.freeze({ message() {}, waitedFor() {} });
