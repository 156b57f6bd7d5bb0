import { CONDUCTOR_METHODS, type ConductorMethod } from "../../conductor-client/methods/conductor.js";
import type { HostSession } from "../../conductor-client/port.js";
import type { HttpClient, HttpRequest } from "../../runtime/http.js";
import type { Programs } from "../../runtime/processes.js";
import type { AgentView } from "../context.js";
import { createView, type ViewOptions } from "../lifecycle/create-services.js";
import { OverlayFiles } from "./overlay-files.js";

const READS = ["GET", "HEAD", "OPTIONS"];

export type ReadOnlyViewOptions = Omit<ViewOptions, "permit">;

/** Creates the view that an agent of this host would have, with interfaces that reject writes, leases and file changes. */
export function createReadOnlyView(options: ReadOnlyViewOptions): Promise<AgentView> {
  const { runtime, session } = options;
  return createView({
    ...options,
    session: readOnlySession(session),
    runtime: {
      ...runtime,
      files: new OverlayFiles(runtime.files),
      http: readOnlyHttp(runtime.http),
      programs: readOnlyPrograms(runtime.programs),
    },
    permit: (purpose) => {
      throw violation(purpose);
    },
  });
}

/** Returns whether the conductor method changes nothing; a method that waits for something only fetches it. */
function isRead(method: ConductorMethod): boolean {
  const { kind } = CONDUCTOR_METHODS[method];
  return kind === "reads" || kind === "waits";
}

/** A dry run was about to change something: a defect of the calling code. */
function violation(what: string): Error {
  return new Error(`a dry run changes nothing; rejected: ${what}`);
}

async function rejectCall(what: string): Promise<never> {
  throw violation(what);
}

/** Wraps a session so that it only reads: it takes no lease, writes no row and calls no other agent. @internal */
export function readOnlySession(session: HostSession): HostSession {
  return {
    host: session.host,
    leaseHeld: false,
    leaseEpoch: null,
    leaseLost: new Promise(() => {}),
    leaseSettled: async () => {},
    call: (method, params, options) => (isRead(method) ? session.call(method, params, options) : rejectCall(method)),
    callAgent: (_host, method) => rejectCall(method),
    castAgent: (_host, method) => rejectCall(method),
    acquireLease: () => rejectCall("taking the host's lease"),
    serve: () => rejectCall("serving requests"),
    stopServing: () => session.stopServing(),
    drain: () => rejectCall("serving requests"),
    close: () => session.close(),
  };
}

/** Returns whether the request is a login. A login changes nothing, and no service responds without one. */
function isLogin({ method, url }: Pick<HttpRequest, "method" | "url">): boolean {
  return method === "POST" && new URL(url).pathname.endsWith("/v3/auth/tokens");
}

/** Wraps an HTTP client so that it only reads, for drivers whose hypervisor is a service. @internal */
export function readOnlyHttp(http: HttpClient): HttpClient {
  return {
    request: (request) =>
      READS.includes(request.method) || isLogin(request)
        ? http.request(request)
        : rejectCall(`${request.method} ${request.url}`),
    close: () => http.close(),
  };
}

/** Wraps programs so that they can only be inspected or run to completion, for drivers whose guests are processes. */
function readOnlyPrograms(programs: Programs): Programs {
  return {
    start: ({ argv }) => rejectCall(`starting ${argv[0]}`),
    run: (options) => programs.run(options),
    look: (pid) => programs.look(pid),
    signal: ({ pid }, signal) => rejectCall(`sending ${signal} to process ${pid}`),
    ended: (process, signal) => programs.ended(process, signal),
  };
}
