import type { Digests } from "../../runtime/digests.js";
import { stableId } from "../identity/stable-id.js";

/** Projects are known by name in a file, and by id in records. */
export class ProjectNames {
  readonly #digests: Pick<Digests, "sha256">;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #names: ReadonlyMap<string, string>;

  /** @param ids of the projects that there are, by name. @param names of those that are to be */
  constructor(digests: Pick<Digests, "sha256">, ids: ReadonlyMap<string, string>, names: Iterable<string> = []) {
    this.#digests = digests;
    this.#ids = ids;
    this.#names = new Map([...ids.keys(), ...names].map((name) => [this.idOf(name), name]));
  }

  idOf(name: string): string {
    return this.#ids.get(name) ?? stableId(this.#digests, `project/${name}`);
  }

  /** The name of a project; the id of one that there is no more. */
  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }
}
