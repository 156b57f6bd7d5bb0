import { parse } from "yaml";
import { requestToken } from "../../placement-client/access/keystone-access.js";
import type { Files } from "../../runtime/files.js";
import type { HttpClient, HttpMethod } from "../../runtime/http.js";
import { noClusterIn, readClusterInfo, type StateDir } from "./state-dir.js";

type CloudService = "compute" | "placement" | "image" | "network" | "baremetal" | "block-storage";

/** An administrator's session with a local cluster through its public APIs, with credentials from `clouds.yaml`. */
export interface CloudSession {
  /**
   * @param path below the service's endpoint
   * @param version microversion
   * @throws {CloudRequestFailed} unless the status is 2xx
   */
  request(service: CloudService, method: HttpMethod, path: string, version: string, body?: unknown): Promise<unknown>;
}

export class CloudRequestFailed extends Error {
  override readonly name = "CloudRequestFailed";
  readonly status: number;
  readonly fault: ApiFault;

  constructor(method: string, url: string, status: number, body: string) {
    super(`${method} ${url} failed with status ${status}: ${body.slice(0, 300)}`);
    this.status = status;
    this.fault = toFault(body) ?? {
      name: null,
      message: `${method} ${new URL(url, "http://localhost").pathname} failed`,
    };
  }
}

/** The error in a response of an API. */
interface ApiFault {
  /** The API's name of the error, such as `itemNotFound`; null if it has none. */
  readonly name: string | null;
  readonly message: string;
}

/** Returns the error in the JSON of Compute, Network or Placement; undefined if the body is something else. */
function toFault(body: string): ApiFault | undefined {
  try {
    const [[name = "", fault] = []] = Object.entries(JSON.parse(body) as Readonly<Record<string, unknown>>);
    const { message, type, title, detail } = (Array.isArray(fault) ? fault[0] : fault) as Readonly<
      Record<string, unknown>
    >;
    const text = message ?? detail;
    return typeof text === "string" && text !== "" ? { name: String(type ?? title ?? name), message: text } : undefined;
  } catch {
    return undefined;
  }
}

interface Clouds {
  readonly clouds?: {
    readonly devstack?: {
      readonly auth?: {
        readonly auth_url?: string;
        readonly username?: string;
        readonly password?: string;
        readonly project_name?: string;
      };
    };
  };
}

/** @throws {ClusterError} `NoLocalCloud` if no cluster was ever started there; {@link HttpConnectFailure} if it is not running */
export async function openCloudSession(files: Files, http: HttpClient, directory: StateDir): Promise<CloudSession> {
  const text = await files.readIfPresent(directory.cloudsFile);
  const auth = text === undefined ? undefined : (parse(text) as Clouds | null)?.clouds?.devstack?.auth;
  if (auth?.auth_url === undefined) {
    throw noClusterIn(directory);
  }
  const { username = "", password = "", project_name: project = "" } = auth;
  const domain = { id: "default" };
  // The file may have the address of the external listener.
  const base = (await readClusterInfo(files, directory))?.url ?? auth.auth_url.replace(/\/identity(\/v3)?\/?$/, "");
  const { url, status, token, body } = await requestToken(
    http,
    `${base}/identity/v3`,
    { kind: "password", user: { name: username, domain }, password },
    { kind: "project", name: project, domain },
  );
  if (token === undefined) {
    throw new CloudRequestFailed("POST", url, status, body);
  }
  return sessionWith(http, base, token);
}

/** @param base `http://127.0.0.1:8774` @param token an administrator's token */
export function sessionWith(http: HttpClient, base: string, token: string): CloudSession {
  const endpoints: Readonly<Record<CloudService, string>> = {
    compute: `${base}/compute/v2.1`,
    placement: `${base}/placement`,
    image: `${base}/image`,
    network: `${base}/network`,
    baremetal: `${base}/baremetal`,
    "block-storage": `${base}/volume/v3`,
  };
  return {
    request: async (service, method, path, version, body) => {
      const url = `${endpoints[service]}${path}`;
      const response = await http.request({
        method,
        url,
        headers: {
          "x-auth-token": token,
          accept: "application/json",
          "openstack-api-version": `${service === "block-storage" ? "volume" : service} ${version}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (response.status >= 300) {
        throw new CloudRequestFailed(method, url, response.status, response.body);
      }
      return response.body === "" ? null : JSON.parse(response.body);
    },
  };
}
