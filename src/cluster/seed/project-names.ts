import type { Digests } from "../../runtime/digests.js";
import { stableId } from "../identity/directory.js";

/** Projects are known by name in a file, and by id in records. */
export class ProjectNames {
  readonly #digests: Pick<Digests, "sha256">;
  readonly #names: ReadonlyMap<string, string>;

  /** @param names of the projects that there are, or are to be */
  constructor(digests: Pick<Digests, "sha256">, names: Iterable<string>) {
    this.#digests = digests;
    this.#names = new Map([...names].map((name) => [this.idOf(name), name]));
  }

  idOf(name: string): string {
    return stableId(this.#digests, `project/${name}`);
  }

  /** The name of a project; the id of one that there is no more. */
  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }
}
