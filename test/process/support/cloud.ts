import { setTimeout as pause } from "node:timers/promises";
import { request as ask, type Dispatcher } from "undici";

export interface ApiResponse {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Json;
}
/** A parsed body that tests can navigate; leaves are compared or converted to strings. */
export interface Json {
  readonly [key: string]: Json;
}

/** The public APIs of a control plane, as an administrator. */
export interface Cloud {
  compute(method: string, path: string, body?: unknown, version?: string): Promise<ApiResponse>;
  placement(method: string, path: string, body?: unknown, version?: string): Promise<ApiResponse>;
  image(method: string, path: string): Promise<ApiResponse>;
}

/** Pause between two polls as a multiple of a poll's duration, and its bounds in milliseconds. */
const PAUSE = { times: 4, least: 20, most: 500 };

/**
 * Polls until the condition holds; bounded by the timeout of the test. A slow probe is called less often, since the programs
 * under test need the processor.
 */
export async function eventually<T>(probe: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const startedAt = performance.now();
    const value = await probe();
    if (holds(value)) {
      return value;
    }
    await pause(Math.min(PAUSE.most, Math.max(PAUSE.least, PAUSE.times * (performance.now() - startedAt))));
  }
}

/** Sends a request with a JSON body or none, and returns the response, whatever its status. */
export async function request(
  method: string,
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<ApiResponse> {
  const response = await ask(url, {
    method: method as Dispatcher.HttpMethod,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  const isJson = /json/.test(String(response.headers["content-type"]));
  return {
    status: response.statusCode,
    headers: response.headers,
    body: (text === "" ? {} : isJson ? JSON.parse(text) : { text }) as Json,
  };
}

/** Returns a token of the administrator, obtained from Identity with a password. */
export async function passwordToken(
  identity: string,
  { username, password, project }: { readonly username: string; readonly password: string; readonly project: string },
): Promise<string> {
  const domain = { id: "default" };
  const user = { name: username, domain, password };
  const auth = {
    identity: { methods: ["password"], password: { user } },
    scope: { project: { name: project, domain } },
  };
  const { status, headers, body } = await request("POST", `${identity}/v3/auth/tokens`, { auth }, {});
  if (status !== 201) {
    throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
  }
  return String(headers["x-subject-token"] ?? "");
}
