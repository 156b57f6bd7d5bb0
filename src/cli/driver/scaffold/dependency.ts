import { dirname, relative, resolve } from "node:path";

export interface DependencyOptions {
  /** This package's folder, absolute, links resolved. */
  readonly own: string;
  /** The new package's, absolute. */
  readonly folder: string;
  /** The version of this package. */
  readonly version: string;
  /** What npm wrote down of the `node_modules` that this package is installed in; left out: it is a checkout. */
  readonly lock?: string;
}

/**
 * How a new package depends on this one: in the way that this one came here. A checkout is linked; one that was installed
 * is never linked, since npm would then try to build it, for which it lacks the sources.
 */
export function dependencyOn({ own, folder, version, lock }: DependencyOptions): string {
  if (lock === undefined) {
    return `file:${relative(folder, own)}`;
  }
  const from = resolvedIn(lock);
  if (from?.startsWith("git")) {
    return from;
  }
  if (!from?.startsWith("file:")) {
    return `^${version}`;
  }
  const project = dirname(dirname(own));
  return `file:${relative(folder, resolve(project, from.slice("file:".length)))}`;
}

function resolvedIn(lock: string): string | undefined {
  try {
    const { packages } = JSON.parse(lock) as { packages?: Record<string, { resolved?: unknown } | undefined> };
    const from = packages?.["node_modules/compute-agent"]?.resolved;
    return typeof from === "string" ? from : undefined;
  } catch {
    return undefined;
  }
}
