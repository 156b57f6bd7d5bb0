import {
  type Bytes,
  bytesOf,
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
  type Transfer,
  type TransferResponse,
  type Transfers,
  textIn,
} from "../runtime/http.js";
import { DEFAULT_HTTP_TIMEOUT } from "../runtime/http-server.js";
import type { VirtualNetwork } from "./virtual-network.js";
import type { VirtualProcess } from "./virtual-process.js";
import type { VirtualListener } from "./virtual-servers.js";

interface Outcome {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends requests to the listeners of the same virtual world. */
export class VirtualHttp implements HttpClient {
  readonly #process: VirtualProcess;
  readonly #network: VirtualNetwork<VirtualListener>;

  constructor(process: VirtualProcess, network: VirtualNetwork<VirtualListener>) {
    this.#process = process;
    this.#network = network;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const { url, timeout = DEFAULT_HTTP_TIMEOUT, signal } = request;
    return this.#process.whileAlive(() => {
      signal?.throwIfAborted();
      return new Promise<HttpResponse>((resolve, reject) => {
        const abort = () => outcome.reject(signal?.reason);
        const cancel = this.#process.after(timeout, () => outcome.reject(new HttpTimeout(url, timeout)));
        const settle = () => {
          cancel();
          signal?.removeEventListener("abort", abort);
        };
        const outcome: Outcome = {
          resolve: (response) => {
            settle();
            resolve(response);
          },
          reject: (error) => {
            settle();
            reject(error);
          },
        };
        signal?.addEventListener("abort", abort, { once: true });
        this.#send(request, outcome);
      });
    });
  }

  async close(): Promise<void> {}

  #send(request: HttpRequest, outcome: Outcome): void {
    const { method, url } = request;
    const fault = this.#network.strike({ from: this.#process.name, method, url });
    const server = this.#network.find(new URL(url));
    if (fault?.kind === "answer") {
      this.#process.after(this.#network.latency, () => outcome.resolve(fault.response));
      return;
    }
    if (fault?.kind === "refuse" || !server) {
      const code = (fault?.kind === "refuse" ? fault.code : undefined) ?? "ECONNREFUSED";
      this.#process.after(this.#network.latency, () => outcome.reject(new HttpConnectFailure(url, code)));
      return;
    }
    if (fault?.kind === "lose-request") {
      return;
    }
    const back = this.#network.wire(server.process, this.#process);
    const breakOff = () => back.send(() => outcome.reject(new HttpConnectFailure(url, "ECONNRESET")));
    const forget = server.process.onKill(breakOff);
    const arrive = async () => {
      if (!server.process.alive) {
        return;
      }
      if (fault?.kind === "double") {
        await server.serve(request);
      }
      const response = await server.serve(request);
      forget();
      if (fault?.kind === "lose-answer") {
        breakOff();
      } else {
        const { bytes, ...rest } = response;
        const body = bytes === undefined ? rest.body : await textIn(bytes);
        back.send(() => outcome.resolve({ ...rest, body }), fault?.kind === "latency" ? fault.milliseconds : 0);
      }
    };
    const late = fault?.kind === "late-request" ? fault.milliseconds : 0;
    this.#network.wire(this.#process, server.process).send(arrive, late);
  }
}

/** Streams bodies to and from the listeners of the same virtual world, in parts. */
export class VirtualTransfers implements Transfers {
  readonly #process: VirtualProcess;
  readonly #network: VirtualNetwork<VirtualListener>;

  constructor(process: VirtualProcess, network: VirtualNetwork<VirtualListener>) {
    this.#process = process;
    this.#network = network;
  }

  async send({ body, ...transfer }: Transfer): Promise<TransferResponse> {
    const { method, url, headers = {}, idle = DEFAULT_HTTP_TIMEOUT, signal } = transfer;
    return this.#process.whileAlive(async () => {
      signal?.throwIfAborted();
      const fault = this.#network.strike({ from: this.#process.name, method, url });
      const server = this.#network.find(new URL(url));
      if (fault?.kind === "answer") {
        const { status, headers: responseHeaders, body: text } = fault.response;
        return { status, headers: responseHeaders, body: bytesOf(text) };
      }
      if (fault?.kind === "lose-request") {
        await this.#process.sleep(idle, signal);
        throw new HttpTimeout(url, idle);
      }
      if (fault?.kind === "refuse" || !server) {
        throw new HttpConnectFailure(url, (fault?.kind === "refuse" ? fault.code : undefined) ?? "ECONNREFUSED");
      }
      // An error thrown by the body is rethrown to the caller, regardless of how the server handles the broken request.
      let thrown: { readonly error: unknown } | undefined;
      const sent = body && noting(this.#parts(url, body, server.process, "sent"), (error) => (thrown ??= { error }));
      const served = server.serve({ method, url, headers, ...(sent === undefined ? {} : { bytes: sent }) });
      const response = await this.#unlessKilled(url, server.process, this.#within(url, idle, signal, served));
      if (thrown) {
        throw thrown.error;
      }
      if (fault?.kind === "lose-answer") {
        throw new HttpConnectFailure(url, "ECONNRESET");
      }
      await this.#across(server.process, this.#process);
      const responseBody = this.#parts(
        url,
        response.bytes ?? bytesOf(response.body),
        server.process,
        "received",
        signal,
      );
      return { status: response.status, headers: response.headers, body: responseBody };
    });
  }

  /**
   * Sends each part through the network. Nothing arrives from a killed process, and errors of the server become
   * connection errors.
   */
  async *#parts(
    url: string,
    bytes: Bytes,
    server: VirtualProcess,
    way: "sent" | "received",
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const [from, to] = way === "sent" ? [this.#process, server] : [server, this.#process];
    try {
      for await (const part of bytes) {
        signal?.throwIfAborted();
        if (!from.alive) {
          throw new HttpConnectFailure(url, "ECONNRESET");
        }
        await this.#unlessKilled(url, from, this.#across(from, to));
        yield part;
      }
    } catch (error) {
      if (way === "sent" || error === signal?.reason || error instanceof HttpConnectFailure) {
        throw error;
      }
      throw new HttpConnectFailure(url, "ECONNRESET", { cause: error });
    }
  }

  /** Applies the timeout until the response begins. */
  #within<T>(url: string, idle: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason);
      const cancel = this.#process.after(idle, () => reject(new HttpTimeout(url, idle)));
      signal?.addEventListener("abort", abort, { once: true });
      work.then(resolve, reject).finally(() => {
        cancel();
        signal?.removeEventListener("abort", abort);
      });
    });
  }

  #across(from: VirtualProcess, to: VirtualProcess): Promise<void> {
    return new Promise((resolve) => this.#network.wire(from, to).send(resolve));
  }

  #unlessKilled<T>(url: string, process: VirtualProcess, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = process.onKill(() => reject(new HttpConnectFailure(url, "ECONNRESET")));
      work.then(resolve, reject).finally(forget);
    });
  }
}

async function* noting(bytes: Bytes, note: (error: unknown) => void): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    note(error);
    throw error;
  }
}
