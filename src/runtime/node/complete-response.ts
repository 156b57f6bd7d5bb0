import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { HttpResponse } from "../http.js";
import { flattenHeaders } from "./flatten-headers.js";

/**
 * Takes one answer of undici's as a whole. Its own request makes a stream, a signal and a resource for each, which take longer than
 * the rest of a small request.
 */
export class BufferedResponseHandler implements Dispatcher.DispatchHandler {
  /** Rejects with what undici says, or with the reason of {@link stop}. */
  readonly response: Promise<HttpResponse>;
  #resolve: (response: HttpResponse) => void = () => {};
  #reject: (reason: unknown) => void = () => {};
  /** Undefined: the request waits for a connection. */
  #controller: Dispatcher.DispatchController | undefined;
  /** Why nobody waits any more. */
  #stopped: Error | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #parts: Buffer[] = [];

  constructor() {
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#reject(reason);
    this.#controller?.abort(reason);
  }

  /** Again, where undici sends it again. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#parts = [];
    if (this.#stopped !== undefined) {
      controller.abort(this.#stopped);
    }
  }

  /** For what comes before the answer, too, as a 103. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    this.#parts.push(part);
  }

  onResponseEnd(): void {
    this.#resolve({ status: this.#status, headers: flattenHeaders(this.#headers), body: textOf(this.#parts) });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }
}

function textOf(parts: readonly Buffer[]): string {
  const [only, another] = parts;
  const bytes = only !== undefined && another === undefined ? only : Buffer.concat(parts);
  const text = bytes.toString();
  // A mark of the order of bytes is none of the text.
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
