import { type Clock, type HttpClient, type HttpResponse, InvalidConfiguration } from "../../../src/virt/index.js";
import { type IronicConfig, ironicSchema } from "../config.js";
import { IronicError, isRecord, messageOf } from "./ironic-error.js";

const records = (value: unknown) => (Array.isArray(value) ? (value as unknown[]).filter(isRecord) : []);

/** Ironic's base URL without `/v1`, and the headers that authenticate the caller. */
interface Admission {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface IronicAccess {
  admission(signal?: AbortSignal): Promise<Admission>;
  /** Discards a token that Ironic rejected. Returns false if a new one would be the same. */
  renew(): boolean;
}

/** Milliseconds before a token's expiry at which another one is requested. */
const EARLY = 60_000;

/** Creates the access for `[ironic] auth_type`. @throws {InvalidConfiguration} names the missing option. */
export function createAccess(
  deps: { readonly http: HttpClient; readonly clock: Clock },
  config: IronicConfig,
): IronicAccess {
  switch (config.authType) {
    case "password":
    case "v3password":
      return new KeystoneAccess(deps, config);
    case "http_basic": {
      const credentials = `${needed(config, "username")}:${needed(config, "password")}`;
      return fixed(config, { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` });
    }
    default:
      return fixed(config, {});
  }
}

function fixed(config: IronicConfig, headers: Admission["headers"]): IronicAccess {
  const admission = { endpoint: withoutVersion(needed(config, "endpointOverride")), headers };
  return { admission: async () => admission, renew: () => false };
}

const OPTION_NAMES = {
  endpointOverride: "endpoint_override",
  authUrl: "auth_url",
  username: "username",
  password: "password",
  projectName: "project_name",
} as const;

function needed(config: IronicConfig, name: keyof typeof OPTION_NAMES): string {
  const value = config[name];
  if (value !== null && value !== "") {
    return value;
  }
  throw new InvalidConfiguration(
    `[ironic] ${OPTION_NAMES[name]} is unset, but auth_type = ${config.authType ?? "none"} needs it`,
  );
}

const withoutVersion = (url: string): string => url.replace(/\/+$/, "").replace(/\/v1$/, "");

interface Token {
  readonly admission: Admission;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Identity v3 password tokens. Only one is requested at a time, and it is cached until shortly before its expiry. */
class KeystoneAccess implements IronicAccess {
  readonly #deps: { readonly http: HttpClient; readonly clock: Clock };
  readonly #config: IronicConfig;
  readonly #url: string;
  readonly #request: string;
  #token: Promise<Token> | null = null;

  constructor(deps: { readonly http: HttpClient; readonly clock: Clock }, config: IronicConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#url = `${needed(config, "authUrl").replace(/\/+$/, "").replace(/\/v3$/, "")}/v3/auth/tokens`;
    const user = {
      name: needed(config, "username"),
      password: needed(config, "password"),
      domain: domain(config.userDomainName),
    };
    const project = { name: needed(config, "projectName"), domain: domain(config.projectDomainName) };
    this.#request = JSON.stringify({
      auth: { identity: { methods: ["password"], password: { user } }, scope: { project } },
    });
  }

  async admission(): Promise<Admission> {
    const held = this.#token;
    const known = await held;
    if (known && known.expiresAt - EARLY > this.#deps.clock.now()) {
      return known.admission;
    }
    // The first caller requests a token; the others wait for the same one.
    if (this.#token === null || this.#token === held) {
      this.#token = this.#ask();
    }
    const tokenRequest = this.#token;
    try {
      return (await tokenRequest).admission;
    } catch (error) {
      if (this.#token === tokenRequest) {
        this.#token = null;
      }
      throw error;
    }
  }

  renew(): boolean {
    this.#token = null;
    return true;
  }

  async #ask(): Promise<Token> {
    const response = await this.#post();
    const token = response.headers["x-subject-token"];
    if (response.status !== 201 || token === undefined) {
      throw new IronicError(
        response.status === 401 ? "unauthorized" : "unreachable",
        response.status,
        response.status === 401
          ? `Identity at ${this.#url} rejected user ${this.#config.username}; check username, password, project_name and the domains in [ironic]`
          : `Identity at ${this.#url} responded ${response.status}, expected 201 with a token; check auth_url in [ironic]`,
      );
    }
    const { expiresAt, endpoint } = catalogEndpoint(response.body, this.#config);
    return { admission: { endpoint: withoutVersion(endpoint), headers: { "x-auth-token": token } }, expiresAt };
  }

  async #post(): Promise<HttpResponse> {
    const headers = { accept: "application/json", "content-type": "application/json" };
    try {
      return await this.#deps.http.request({
        method: "POST",
        url: this.#url,
        tlsSection: ironicSchema.section,
        headers,
        body: this.#request,
      });
    } catch (error) {
      throw new IronicError("unreachable", null, `no token from Identity: ${messageOf(error)}`, { cause: error });
    }
  }
}

const domain = (name: string | null) => (name === null ? { id: "default" } : { name });

/** Reads the expiry and the bare-metal endpoint from the body of a token response. @throws {IronicError} */
function catalogEndpoint(
  body: string,
  { endpointOverride, regionName, validInterfaces }: IronicConfig,
): { readonly endpoint: string; readonly expiresAt: number } {
  const token = tokenIn(body);
  const expiresAt = Date.parse(String(token.expires_at));
  if (Number.isNaN(expiresAt)) {
    throw unusable(`the token expires at ${String(token.expires_at)}, which is not a time`);
  }
  if (endpointOverride !== null) {
    return { endpoint: endpointOverride, expiresAt };
  }
  const services = records(token.catalog).filter(({ type }) => type === "baremetal");
  const endpoints = services
    .flatMap((service) => records(service.endpoints))
    .filter(({ region, region_id }) => regionName === null || region === regionName || region_id === regionName);
  for (const interfaceName of validInterfaces) {
    const found = endpoints.find((endpoint) => endpoint.interface === interfaceName);
    if (typeof found?.url === "string") {
      return { endpoint: found.url, expiresAt };
    }
  }
  throw unusable(
    `the catalog has no baremetal endpoint with interface ${validInterfaces.join(" or ")}` +
      `${regionName === null ? "" : ` in region ${regionName}`}; register one, or set endpoint_override in [ironic]`,
  );
}

function tokenIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isRecord(parsed) && isRecord(parsed.token)) {
      return parsed.token;
    }
  } catch {
    // Reported by the error below.
  }
  throw unusable("it contains no token");
}

function unusable(what: string): IronicError {
  return new IronicError("malformed", 201, `Identity's response is unusable: ${what}`);
}
