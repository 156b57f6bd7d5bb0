import type { Json } from "../../http/json.js";

/** Absolute links into the API, as the client addressed it. */
export class Links {
  readonly #root: string;
  readonly #versioned: string;

  constructor(baseUrl: string, version: string) {
    this.#root = baseUrl;
    this.#versioned = `${baseUrl}/${version}`;
  }

  self(path: string): string {
    return `${this.#versioned}/${path}`;
  }

  bookmark(path: string): string {
    return `${this.#root}/${path}`;
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

  /** Where the next page of a list starts. */
  next(path: string, query: Iterable<readonly [string, string]>, marker: string): Json {
    const params = [...query].filter(([name]) => name !== "marker");
    const text = new URLSearchParams([
      ...params.map(([name, value]): [string, string] => [name, value]),
      ["marker", marker],
    ]).toString();
    return [{ rel: "next", href: `${this.self(path)}?${text}` }];
  }
}
