import { CONDUCTOR_METHODS, type ConductorMethod } from "../../conductor-client/methods/conductor.js";
import type { HostSession } from "../../conductor-client/port.js";
import type { HttpClient, HttpRequest } from "../../runtime/http.js";
import type { Programs } from "../../runtime/processes.js";
import type { AgentView } from "../context.js";
import { createView, type ViewOptions } from "../lifecycle/create-services.js";
import { OverlayFiles } from "./overlay-files.js";

/** Something in a dry run was about to change the world; a defect of whoever tried. */
class DryRunViolation extends Error {
  override readonly name = "DryRunViolation";

  constructor(what: string) {
    super(`a dry run changes nothing, but ${what} was about to be done`);
  }
}

const READS = ["GET", "HEAD", "OPTIONS"];

export type ReadOnlyViewOptions = Omit<ViewOptions, "permit">;

/** What an agent of this host sees, through doors that let nothing out: no write, no lease, no file. */
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
      throw new DryRunViolation(purpose);
    },
  });
}

/** Whether the conductor changes nothing when it is asked this; a method that waits for something only fetches it. */
function isRead(method: ConductorMethod): boolean {
  const { kind } = CONDUCTOR_METHODS[method];
  return kind === "reads" || kind === "waits";
}

async function rejectCall(what: string): Promise<never> {
  throw new DryRunViolation(what);
}

/** A session that reads: no lease is taken, no row is written, nobody is asked to do anything. @internal */
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

/** A login changes nothing, and no service answers without one. */
function isLogin({ method, url }: Pick<HttpRequest, "method" | "url">): boolean {
  return method === "POST" && new URL(url).pathname.endsWith("/v3/auth/tokens");
}

/** HTTP that reads, for drivers whose hypervisor is a service. @internal */
export function readOnlyHttp(http: HttpClient): HttpClient {
  return {
    request: (request) =>
      READS.includes(request.method) || isLogin(request)
        ? http.request(request)
        : rejectCall(`${request.method} ${request.url}`),
    close: () => http.close(),
  };
}

/** Programs that are looked at, or run to their end, for drivers whose guests are processes. */
function readOnlyPrograms(programs: Programs): Programs {
  return {
    start: ({ argv }) => rejectCall(`starting ${argv[0]}`),
    run: (options) => programs.run(options),
    look: (pid) => programs.look(pid),
    signal: ({ pid }, signal) => rejectCall(`sending ${signal} to process ${pid}`),
    ended: (process, signal) => programs.ended(process, signal),
  };
}
