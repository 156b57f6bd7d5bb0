import { parse } from "yaml";
import { NoLocalCloud } from "../../../cluster/local/cloud-session.js";
import { readClusterInfo, type StateDir } from "../../../cluster/local/state-dir.js";
import { requestToken } from "../../../placement/access/identity-v3.js";
import type { HttpMethod, HttpResponse } from "../../../runtime/http.js";
import { madeOnce } from "../../../runtime/made-once.js";
import type { Runtime } from "../../../runtime/runtime.js";

interface ReplayedRequest {
  readonly method: HttpMethod;
  /** With the service's mount point. */
  readonly path: string;
  readonly version?: string;
  readonly contentType?: string;
  readonly body?: string;
}

/** Asks the services of a cluster as its administrator, in any project. */
export interface ReplaySession {
  request(project: string | null, request: ReplayedRequest): Promise<HttpResponse>;
}

const DOMAIN = { id: "default" };

/** @throws {NoLocalCloud} nothing was ever started there; asking throws {@link HttpConnectFailure} when it is not running now */
export async function openReplaySession(
  { files, http }: Pick<Runtime, "files" | "http">,
  directory: StateDir,
): Promise<ReplaySession> {
  const url = (await readClusterInfo(files, directory))?.url;
  const clouds = parse((await files.readIfPresent(directory.cloudsFile)) ?? "null") as {
    readonly clouds: { readonly devstack: { readonly auth: { readonly username: string; readonly password: string } } };
  } | null;
  if (url === undefined || clouds === null) {
    throw new NoLocalCloud(`${directory.root} has no cluster; name its folder with --state-dir`);
  }
  const { username, password } = clouds.clouds.devstack.auth;
  const tokens = new Map<string, () => Promise<string | undefined>>();
  const login = async (project: string): Promise<string | undefined> => {
    const credentials = { kind: "password", user: { name: username, domain: DOMAIN }, password } as const;
    const scope = { kind: "project", name: project, domain: DOMAIN } as const;
    return (await requestToken(http, `${url}/identity/v3`, credentials, scope)).token;
  };
  const tokenFor = (project: string): Promise<string | undefined> => {
    const known = tokens.get(project) ?? madeOnce(() => login(project));
    tokens.set(project, known);
    return known();
  };

  /** The administrator has no role in the project yet, or it has just been made. */
  async function admit(project: string): Promise<string | undefined> {
    const headers = { "x-auth-token": (await tokenFor("admin")) ?? "", accept: "application/json" };
    const read = async (path: string): Promise<Readonly<Record<string, readonly { readonly id: string }[]>>> =>
      JSON.parse((await http.request({ method: "GET", url: `${url}/identity/v3${path}`, headers })).body);
    const [projects, users, roles] = await Promise.all([
      read(`/projects?name=${encodeURIComponent(project)}`),
      read(`/users?name=${encodeURIComponent(username)}`),
      read("/roles?name=admin"),
    ]);
    const [id, user, role] = [projects.projects?.[0]?.id, users.users?.[0]?.id, roles.roles?.[0]?.id];
    if (id !== undefined && user !== undefined && role !== undefined) {
      const path = `/projects/${id}/users/${user}/roles/${role}`;
      await http.request({ method: "PUT", url: `${url}/identity/v3${path}`, headers });
    }
    tokens.delete(project);
    return tokenFor(project);
  }

  return {
    request: async (project, { method, path, version, contentType, body }) => {
      const scope = project ?? "admin";
      const token = (await tokenFor(scope)) ?? (await admit(scope)) ?? (await tokenFor("admin")) ?? "";
      return http.request({
        method,
        url: `${url}${path}`,
        headers: {
          "x-auth-token": token,
          accept: "application/json",
          ...(version === undefined ? {} : versionHeader(version)),
          ...(contentType === undefined || body === undefined ? {} : { "content-type": contentType }),
        },
        ...(body === undefined ? {} : { body }),
      });
    },
  };
}

/** `compute 2.79`, or `2.79` as Nova's own header had it. */
function versionHeader(version: string): Readonly<Record<string, string>> {
  return version.includes(" ") ? { "openstack-api-version": version } : { "x-openstack-nova-api-version": version };
}
