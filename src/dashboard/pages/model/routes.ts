const VIEWS = ["hosts", "servers", "placement", "consumers", "requests", "try", "snapshots"] as const;
export type View = (typeof VIEWS)[number];

/** Where the page is: `#/hosts/devstack1?state=down`. */
export interface Route {
  readonly view: View;
  /** One of them; null: all. */
  readonly of: string | null;
  readonly filter: Readonly<Record<string, string>>;
}

const isView = (name: string | undefined): name is View => VIEWS.some((view) => view === name);

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view, of] = path.split("/", 2);
  if (!isView(view)) {
    return { view: "hosts", of: null, filter: {} };
  }
  return { view, of: of ? decoded(of) : null, filter: Object.fromEntries(new URLSearchParams(query)) };
}

export function hashOf(view: View, of: string | null = null, filter: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  return `#/${view}${of === null ? "" : `/${encodeURIComponent(of)}`}${query === "" ? "" : `?${query}`}`;
}

/** A link that somebody has cut in the middle of a character still leads somewhere. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
