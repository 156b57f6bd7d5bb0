import { basename, dirname, isAbsolute, join } from "node:path";
import type { Digests } from "../../runtime/cryptography.js";
import type { Files } from "../../runtime/files.js";
import type { StateDir } from "./state-dir.js";

/** Valid names for `--name`, which is a folder's name and appears in commands. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export const isClusterName = (text: string): boolean => NAME.test(text);

/** Returns the folder of a user's clusters: `$XDG_STATE_HOME/compute-cluster`, else `~/.local/state/compute-cluster`. */
export function clustersHome(environment: Readonly<Record<string, string | undefined>>, home: string): string {
  const { XDG_STATE_HOME: stateHome = "" } = environment;
  return join(isAbsolute(stateHome) ? stateHome : join(home, ".local", "state"), "compute-cluster");
}

const NAMED = "clusters";
const OTHERS = "known";

/** Returns the state directory of a named cluster. */
export const rootOfName = (home: string, name: string): string => join(home, NAMED, name);

/** Returns the name of the cluster with this state directory; null if it has none. */
export function nameOfRoot(home: string, root: string): string | null {
  return dirname(root) === join(home, NAMED) && isClusterName(basename(root)) ? basename(root) : null;
}

/**
 * The clusters that this user has started on this machine. Named clusters are subfolders of one folder; for each of the
 * others, a file contains its path.
 */
export class KnownClusters {
  readonly #home: string;
  readonly #files: Files;
  readonly #digests: Pick<Digests, "sha256">;

  constructor(home: string, files: Files, digests: Pick<Digests, "sha256">) {
    this.#home = home;
    this.#files = files;
    this.#digests = digests;
  }

  async remember({ root }: Pick<StateDir, "root">): Promise<void> {
    if (nameOfRoot(this.#home, root) === null) {
      await this.#files.write(this.#fileOf(root), `${JSON.stringify({ root })}\n`);
    }
  }

  async forget({ root }: Pick<StateDir, "root">): Promise<void> {
    await this.#files.remove(this.#fileOf(root));
  }

  /** Returns existing state directories, named clusters first. Files that refer to deleted folders are removed. */
  async roots(): Promise<readonly string[]> {
    const names = (await this.#files.list(join(this.#home, NAMED))).filter(isClusterName);
    const others = await Promise.all(
      (await this.#files.list(join(this.#home, OTHERS))).map((file) => this.#rootIn(join(this.#home, OTHERS, file))),
    );
    return [
      ...names.map((name) => rootOfName(this.#home, name)),
      ...others.filter((root) => root !== undefined).toSorted(),
    ];
  }

  async #rootIn(file: string): Promise<string | undefined> {
    const root = rootOf((await this.#files.readIfPresent(file)) ?? "");
    if (root === undefined) {
      return undefined;
    }
    if ((await this.#files.stat(root)) === undefined) {
      await this.#files.remove(file);
      return undefined;
    }
    return root;
  }

  #fileOf(root: string): string {
    return join(this.#home, OTHERS, `${this.#digests.sha256(root).slice(0, 32)}.json`);
  }
}

/** Returns undefined if {@link KnownClusters.remember} did not write this text. */
function rootOf(text: string): string | undefined {
  try {
    const { root } = JSON.parse(text) as { readonly root?: unknown };
    return typeof root === "string" && isAbsolute(root) ? root : undefined;
  } catch {
    return undefined;
  }
}
