import type { ServiceHandler } from "./service.js";

/** A request target, matched to the service that serves it. */
export interface Route {
  readonly handler: ServiceHandler;
  /** The mount point: `""`, `/api` … */
  readonly mount: string;
  /** The path below the mount point. */
  readonly path: string;
  readonly query: string;
}

/** Finds services by path prefix, the longest first. A prefix matches whole path segments only. */
export class Mounts {
  readonly #services: readonly { readonly mount: string; readonly below: string; readonly handler: ServiceHandler }[];

  constructor(services: Readonly<Record<string, ServiceHandler>>) {
    this.#services = Object.entries(services)
      .map(([mount, handler]) => ({ mount, below: `${mount}/`, handler }))
      .sort((left, right) => right.mount.length - left.mount.length);
  }

  /** @param target the request target as the client sent it, origin form or absolute form. */
  match(target: string): Route | undefined {
    const { path, query } = splitTarget(target);
    for (const { mount, below, handler } of this.#services) {
      if (path.startsWith(below) || path === mount || mount === "") {
        return { handler, mount, path: path.slice(mount.length), query };
      }
    }
    return undefined;
  }
}

/** `/a/b?c=d` or `http://host/a/b?c=d` as path and query. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const relative = target.startsWith("/") ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  const mark = relative.indexOf("?");
  const path = mark < 0 ? relative : relative.slice(0, mark);
  return { path, query: mark < 0 ? "" : relative.slice(mark + 1) };
}
