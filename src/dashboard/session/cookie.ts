/** Browsers do not tell ports of one host apart: each control plane's cookie has a name of its own. */
const nameOf = (url: string): string => `compute-window-${new URL(url).port}`;

/** The value in a `cookie` header; "": it has none. */
export function cookieIn(header: string | undefined, url: string): string {
  const pairs = (header ?? "").split(/[;,]/).map((pair) => pair.trim().split("="));
  return pairs.find(([name]) => name === nameOf(url))?.[1] ?? "";
}

/** A `set-cookie` header for this value; "" takes the cookie away. */
export function setCookie(value: string, url: string): string {
  const life = value === "" ? "; Max-Age=0" : "";
  return `${nameOf(url)}=${value}; HttpOnly; SameSite=Strict; Path=/${life}`;
}
