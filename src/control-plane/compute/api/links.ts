import type { ServiceRequest } from "../../../runtime/service.js";
import type { Json } from "../../http/json.js";
import type { Query } from "../../http/query.js";

/** Absolute links into the API. They have the project's id where the URL of the request has it. */
export class Links {
  readonly #application: string;
  readonly #self: string;
  readonly #bookmark: string;

  constructor(
    { baseUrl, path, query }: Pick<ServiceRequest, "baseUrl" | "path" | "query">,
    version: string,
    projectId: string | null,
  ) {
    const isScoped = projectId !== null && `${baseUrl}${path}?${query}`.includes(projectId);
    const project = isScoped ? `/${projectId}` : "";
    this.#application = `${baseUrl}/${version}`;
    this.#self = `${this.#application}${project}`;
    this.#bookmark = `${baseUrl}${project}`;
  }

  self(path: string): string {
    return `${this.#self}/${path}`;
  }

  /** Returns a link that never has the project, as Nova writes those of images that it creates. */
  unscoped(path: string): string {
    return `${this.#application}/${path}`;
  }

  bookmark(path: string): string {
    return `${this.#bookmark}/${path}`;
  }

  pair(path: string): Json {
    return [
      { rel: "self", href: this.self(path) },
      { rel: "bookmark", href: this.bookmark(path) },
    ];
  }

  bookmarkOnly(path: string): Json {
    return [{ rel: "bookmark", href: this.bookmark(path) }];
  }

  /**
   * Returns the link to the next page of a list. The parameters are sorted by name; of a repeated one the greatest value stays.
   * The marker is last, or at its place in the order where the request has one.
   */
  next(path: string, query: Query, marker: string): Json {
    const params = new Map(query.entries.toSorted(compareParameters)).set("marker", marker);
    return [{ rel: "next", href: `${this.self(path)}?${encodeParameters(params)}` }];
  }
}

type Parameter = readonly [name: string, value: string];

function compareParameters([a, x]: Parameter, [b, y]: Parameter): number {
  return compareStrings(a, b) || compareStrings(x, y);
}

function compareStrings(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  return a < b ? -1 : 1;
}

/** Encodes a query as Python's `urlencode` does, which differs from the URL standard in two characters. */
function encodeParameters(params: ReadonlyMap<string, string>): string {
  return new URLSearchParams([...params]).toString().replaceAll("*", "%2A").replaceAll("%7E", "~");
}
