import { acceptable } from "./accept.js";

/** What an error is rendered from. */
export interface ErrorParts {
  readonly status: number;
  readonly detail: string;
  readonly method: string;
  readonly accept: string;
  /** The request's. */
  readonly contentType: string;
  /** Members of the JSON form beside status, title and detail; undefined: the form of webob itself. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

export interface RenderedError {
  readonly contentType: string;
  readonly body: string;
}

const MALFORMED = "The server could not comply with the request since it is either malformed or otherwise incorrect.";

const STATUSES: Readonly<Record<number, readonly [title: string, explanation: string]>> = {
  400: ["Bad Request", MALFORMED],
  401: [
    "Unauthorized",
    "This server could not verify that you are authorized to access the document you requested. Either you supplied " +
      "the wrong credentials (e.g., bad password), or your browser does not understand how to supply the credentials " +
      "required.",
  ],
  403: ["Forbidden", "Access was denied to this resource."],
  404: ["Not Found", "The resource could not be found."],
  405: ["Method Not Allowed", MALFORMED],
  406: ["Not Acceptable", MALFORMED],
  409: ["Conflict", "There was a conflict when trying to complete your request."],
  413: ["Request Entity Too Large", "The body of your request was too large for this server."],
  415: ["Unsupported Media Type", MALFORMED],
};
/** Statuses that are explained by what was asked. */
const SPECIAL: Readonly<Record<number, (parts: ErrorParts, quote: (text: string) => string) => string>> = {
  405: ({ method }, quote) => `The method ${quote(method)} is not allowed for this resource. `,
  406: ({ accept }, quote) =>
    `The resource could not be generated that was acceptable to your browser\n(content of type ${quote(accept)}. `,
  415: ({ contentType }, quote) =>
    `The request media type ${quote(contentType || "None")} is not supported by this server.\n`,
};
const FAILURE: readonly [string, string] = [
  "Internal Server Error",
  "The server has either erred or is incapable of performing the requested operation.",
];

/** Renders as webob's exceptions do: HTML, JSON or plain text, whichever the client prefers. */
export function renderError(parts: ErrorParts): RenderedError {
  const offer = acceptable(parts.accept, ["text/html", "application/json"])[0];
  const [title, explanation] = STATUSES[parts.status] ?? FAILURE;
  const status = `${parts.status} ${title}`;
  if (offer === "text/html") {
    const body = message(parts, escapeHtml(explanation), escapeHtml);
    return { contentType: "text/html; charset=UTF-8", body: html(status, body) };
  }
  const body = message(parts, explanation, (text) => text);
  if (offer === undefined) {
    return { contentType: "text/plain; charset=UTF-8", body: `${status}\n\n${stripTags(body)}` };
  }
  const json =
    parts.json === undefined
      ? { message: body, code: status, title }
      : { errors: [{ status: parts.status, title, detail: stripTags(body), ...parts.json }] };
  return { contentType: "application/json", body: JSON.stringify(json) };
}

function message(parts: ErrorParts, explanation: string, quote: (text: string) => string): string {
  const detail = quote(parts.detail);
  const special = SPECIAL[parts.status]?.(parts, quote);
  if (special !== undefined) {
    return `${special}<br /><br />\n${detail}`;
  }
  return `${explanation}<br /><br />\n${detail}\n\n`;
}

function html(status: string, body: string): string {
  return `<html>
 <head>
  <title>${status}</title>
 </head>
 <body>
  <h1>${status}</h1>
  ${body}
 </body>
</html>`;
}

function stripTags(text: string): string {
  return text
    .replaceAll("\n", " ")
    .replaceAll("\r", "")
    .replace(/<br.*?>/gi, "\n")
    .replace(/<!--|-->/g, "")
    .replace(/<.*?>/gs, "");
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#x27;");
}
