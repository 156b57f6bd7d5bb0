import {
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
} from "../runtime/http.js";
import { DEFAULT_HTTP_TIMEOUT } from "../runtime/listen-defaults.js";
import { textIn } from "../runtime/transfers.js";
import type { VirtualNetwork } from "./virtual-network.js";
import type { VirtualProcess } from "./virtual-process.js";
import type { VirtualListener } from "./virtual-servers.js";

interface Outcome {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests to the listeners of the same virtual world. */
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
