import type { ServiceResponse } from "./service.js";

/** Why a listener answers a request itself. */
export interface Rejection {
  /** 400, 404, 408, 413, 431 or 500. */
  readonly status: number;
  readonly reason: string;
  /** `req-<uuid>`; a failure is logged with it. */
  readonly requestId: string;
  /** As the client wrote them; absent: what came is no request. */
  readonly method?: string;
  readonly target?: string;
}

/** The answer to a request that no service takes, or whose service fails, in the shape of the listener's owner. */
export type RejectRequest = (rejection: Rejection) => ServiceResponse;

/** The reason as a line of text, where the owner has no shape of its own. */
export function toPlainTextResponse({ status, reason }: Rejection): ServiceResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${reason}\n` };
}
