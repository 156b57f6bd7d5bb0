import { basename, join } from "node:path";
import type { Inside } from "../control-plane/extension.js";
import { type Digests, equalInConstantTime } from "../runtime/cryptography.js";
import { errorMessage } from "../runtime/error-messages.js";
import type { Files } from "../runtime/files.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import { type RunnableAction, runAction } from "./actions.js";
import { Viewers } from "./event-stream.js";
import { LogReaders, type OpenLogs } from "./log-stream.js";
import type { RequestRing } from "./request-ring.js";
import { emptyResponse, errorResponse, foreignFetch, foreignRequest, guarded, jsonResponse } from "./responses.js";
import type { HostFolders } from "./rows/guests.js";
import type { ReadSavedItems } from "./rows/saved-items.js";
import { serverLife } from "./server-lifecycle.js";
import { cookieIn, Login, type Session, Sessions, setCookie } from "./sessions.js";
import { Watch } from "./watch.js";
import { type ActionChoices, SESSION_HEADER } from "./wire/messages.js";

interface Held {
  readonly text: string;
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  "app.css": "text/css; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "index.html": "text/html; charset=utf-8",
};

/** The files of the page, created by the build. Each is read at its first request and then cached. */
class PageFiles {
  readonly #folder: string;
  readonly #files: Pick<Files, "readIfPresent">;
  readonly #digests: Pick<Digests, "sha256">;
  readonly #held = new Map<string, Promise<Held | undefined>>();

  constructor(folder: string, files: Pick<Files, "readIfPresent">, digests: Pick<Digests, "sha256">) {
    this.#folder = folder;
    this.#files = files;
    this.#digests = digests;
  }

  /** Returns undefined if there is no such file. */
  async handle(name: string, { headers, method }: ServiceRequest): Promise<ServiceResponse | undefined> {
    const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (type === undefined || (method !== "GET" && method !== "HEAD")) {
      return undefined;
    }
    const reading = this.#held.get(name) ?? this.#read(name);
    this.#held.set(name, reading);
    const held = await reading;
    if (held === undefined) {
      this.#held.delete(name);
      return undefined;
    }
    const about = { "content-type": type, etag: held.etag, "cache-control": "no-cache", vary: "accept" };
    return headers["if-none-match"] === held.etag
      ? { status: 304, headers: about, body: "" }
      : { status: 200, headers: about, body: held.text };
  }

  async #read(name: string): Promise<Held | undefined> {
    const text = await this.#files.readIfPresent(join(this.#folder, name));
    return text === undefined ? undefined : { text, etag: `"${this.#digests.sha256(text).slice(0, 32)}"` };
  }
}

export interface DashboardOptions {
  readonly runtime: Runtime;
  /** The latest requests, recorded since the start of the control plane. */
  readonly requests: RequestRing;
  readonly digests: Digests;
  /** The folder to which the build writes the page. */
  readonly pageFolder: string;
  /** The state directory, whose name is the cluster's. */
  readonly root: string;
  readonly version: string;
  /** Returns the secret that a command on this machine must present to get a one-time link. */
  readonly joinToken: () => Promise<string | undefined>;
  readonly folders: HostFolders;
  /** Opens the logs of agents and control plane. */
  readonly logs: OpenLogs;
  /** Option of commands that selects the cluster, such as ` --name ci-7`; "" for the default cluster. */
  readonly clusterOption: string;
  /** The actions that the page offers. */
  readonly actions: readonly RunnableAction[];
  /** Reads the images, networks and zones that the fields of actions offer. */
  readonly readChoices: () => Promise<ActionChoices>;
  /** Reads snapshots, scenarios and the audit's plan. Called when a viewer connects and after an action. */
  readonly savedItems: ReadSavedItems;
  /** Called when the dashboard closes; ends running actions. */
  readonly onClose: () => void;
  /** Fault points, for the page's form that sets a fault. */
  readonly faultPoints: readonly string[];
}

/** The dashboard of a cluster, in the same process as the control plane. */
export interface Dashboard {
  /** Serves the page to a browser that requests the root. */
  page(request: ServiceRequest): Promise<ServiceResponse>;
  /** Serves the paths below `/window`. */
  serve(request: ServiceRequest): Promise<ServiceResponse>;
  /** Reads a host again after an action that changes no record. */
  look(host: string): void;
  /** Ends all sessions and event streams. */
  close(): void;
}

/** Milliseconds for which the cluster is still followed after the last browser has disconnected. */
const LINGERED = 30_000;

/**
 * Creates the dashboard, which serves the page and its data to browsers on this machine. The folder wire/ describes its
 * API.
 */
export function openDashboard(inside: Inside, options: DashboardOptions): Dashboard {
  const { runtime, requests, actions: runnableActions } = options;
  const { clock, random, files } = runtime;
  const sessions = new Sessions(clock, random);
  const login = new Login(inside, runtime);
  const page = new PageFiles(options.pageFolder, files, options.digests);
  const { folders, savedItems, clusterOption } = options;
  const watch = new Watch({ inside, runtime, folders, savedItems, clusterOption });
  const viewers = new Viewers(
    {
      feed: watch.feed,
      rows: () => watch.view.rows(),
      begin: () => watch.begin(),
      end: () => watch.end(),
      lingers: LINGERED,
    },
    runtime,
  );
  const readers = new Viewers(
    {
      feed: requests.feed,
      rows: () => requests.rows(),
      begin: () => requests.follow(),
      end: () => requests.unfollow(),
      lingers: 0,
    },
    runtime,
  );
  const logReaders = new LogReaders(options.logs, runtime);
  const hello = {
    name: basename(options.root),
    version: options.version,
    placementElsewhere: inside.placement === undefined,
    serviceDownTime: inside.downTime / 1_000,
    faultPoints: options.faultPoints,
  };

  async function root(request: ServiceRequest): Promise<ServiceResponse> {
    const foreign = foreignRequest(request, inside.url());
    if (foreign !== undefined) {
      return errorResponse(403, foreign);
    }
    const response = await page.handle("index.html", request);
    return guarded(
      response ?? errorResponse(404, `the page is not in ${options.pageFolder}: create it with npm run build`),
    );
  }

  async function serve(request: ServiceRequest): Promise<ServiceResponse> {
    const foreign = foreignRequest(request, inside.url());
    if (foreign !== undefined) {
      return errorResponse(403, foreign);
    }
    const [first = "", name = "", ...rest] = request.path.slice(1).split("/");
    if (rest.length > 0) {
      return errorResponse(404, `nothing is at /window${request.path}`);
    }
    if (first === "enter" && name === "") {
      return enter(request);
    }
    if (name === "") {
      const file = await page.handle(first, request);
      if (file !== undefined) {
        return guarded(file);
      }
    }
    const foreignPage = foreignFetch(request);
    return foreignPage === undefined ? serveSameOrigin(request, first, name) : errorResponse(403, foreignPage);
  }

  async function serveSameOrigin(request: ServiceRequest, first: string, name: string): Promise<ServiceResponse> {
    const { method, headers } = request;
    if (first === "keys" && name === "" && method === "POST") {
      return makeKey(request);
    }
    const cookie = cookieIn(headers.cookie, inside.url());
    if (first === "session" && name === "") {
      return sessionItself(request, cookie);
    }
    const session = sessions.find(cookie);
    if (session === undefined) {
      return errorResponse(401, "there is no session, or it has ended: begin one with compute-agent open");
    }
    const followed = first === "events" ? viewers : first === "requests" ? readers : undefined;
    if (followed !== undefined && name === "" && method === "GET") {
      const { readOnly } = session;
      const actions = readOnly ? [] : runnableActions.map(({ action }) => action);
      return followed.stream(request, session, { ...hello, actions, readOnly });
    }
    if (first === "logs" && name === "" && method === "GET") {
      return logReaders.stream(request, session);
    }
    if (first === "choices" && name === "" && method === "GET") {
      return options.readChoices().then(
        (choices) => jsonResponse(200, choices),
        (error: unknown) => errorResponse(502, errorMessage(error)),
      );
    }
    if (first === "servers" && method === "GET") {
      const life = serverLife(name, inside.store, watch.view);
      return life === undefined ? errorResponse(404, `no server has the uuid ${name}`) : jsonResponse(200, life);
    }
    if (first === "requests" && method === "GET") {
      const found = requests.bodies(name);
      return found === undefined ? errorResponse(404, "this request is no longer retained") : jsonResponse(200, found);
    }
    if (first === "actions" && method === "POST") {
      return act(request, name, session);
    }
    return errorResponse(404, `nothing is at /window${request.path} for ${method}`);
  }

  function enter({ query, method }: ServiceRequest): ServiceResponse {
    const key = new URLSearchParams(query).get("key") ?? "";
    const cookie = method === "GET" ? sessions.enter(key) : undefined;
    return cookie === undefined
      ? emptyResponse(303, { location: "/?refused" })
      : emptyResponse(303, { location: "/", "set-cookie": setCookie(cookie, inside.url()) });
  }

  async function makeKey({ headers, query }: ServiceRequest): Promise<ServiceResponse> {
    const token = await options.joinToken();
    const bearerToken = headers.authorization?.replace(/^Bearer /, "") ?? "";
    const readOnly = new URLSearchParams(query).get("read-only") === "1";
    return token !== undefined && token !== "" && equalInConstantTime(bearerToken, token)
      ? jsonResponse(200, { key: sessions.makeKey(readOnly) })
      : errorResponse(401, "expected the cluster's join token, which is in its state directory");
  }

  async function sessionItself(request: ServiceRequest, cookie: string): Promise<ServiceResponse> {
    switch (request.method) {
      case "GET":
        return sessions.find(cookie) === undefined ? errorResponse(401, "there is no session") : emptyResponse(204);
      case "DELETE":
        sessions.end(cookie, "the session was ended");
        return emptyResponse(204, { "set-cookie": setCookie("", inside.url()) });
      case "POST": {
        const rejection = await login.checkCredentials(request);
        return rejection ?? emptyResponse(204, { "set-cookie": setCookie(sessions.begin(false), inside.url()) });
      }
      default:
        return errorResponse(405, "use GET, POST or DELETE");
    }
  }

  async function act(request: ServiceRequest, name: string, { secret, readOnly }: Session): Promise<ServiceResponse> {
    if (!equalInConstantTime(request.headers[SESSION_HEADER] ?? "", secret)) {
      return errorResponse(403, `expected the header ${SESSION_HEADER} with the session's secret`);
    }
    if (readOnly) {
      return errorResponse(403, "this session is read-only: begin another one with compute-agent open");
    }
    const runnable = runnableActions.find(({ action }) => action.name === name);
    if (runnable === undefined) {
      return errorResponse(
        404,
        `unknown action ${name}; known actions: ${runnableActions.map(({ action }) => action.name).join(", ")}`,
      );
    }
    const response = await runAction(runnable, request.body, (host) => watch.look(host));
    if (["snapshot", "finding", "cluster"].includes(runnable.action.subject)) {
      watch.noteSavedItems();
    }
    return response;
  }

  return {
    page: root,
    serve: async (request) => guarded(await serve(request)),
    look: (host) => watch.look(host),
    close: () => {
      sessions.endAll("the control plane is shutting down");
      viewers.close();
      readers.close();
      options.onClose();
    },
  };
}
