import { escapeHtml } from "../../http/responses.js";

interface Range {
  readonly type: string;
  readonly parameters: string;
  readonly q: number;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const RANGE = new RegExp(`^(${TOKEN}/${TOKEN})((?:[ \\t]*;[ \\t]*${TOKEN}(?:=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?)*)$`);

const QUALITY = /[ \t]*;[ \t]*q=([^;]*)/i;

const QUALITY_VALUE = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;

/** `code` of an error response, from microversion 1.23 on. */
export const ErrorCode = {
  undefinedCode: "placement.undefined_code",
  inventoryInUse: "placement.inventory.inuse",
  concurrentUpdate: "placement.concurrent_update",
  duplicateName: "placement.duplicate_name",
  providerInUse: "placement.resource_provider.inuse",
  cannotDeleteParent: "placement.resource_provider.cannot_delete_parent",
  providerNotFound: "placement.resource_provider.not_found",
  duplicateQueryKey: "placement.query.duplicate_key",
  badQueryValue: "placement.query.bad_value",
  missingQueryValue: "placement.query.missing_value",
} as const;

/** The inputs of an error response. */
interface ErrorParts {
  readonly status: number;
  readonly detail: string;
  readonly method: string;
  readonly accept: string;
  /** The content type of the request. */
  readonly contentType: string;
  /** The JSON members in addition to status, title and detail; undefined: webob's own form. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

interface RenderedError {
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

/** Explanations that quote the request, by status. */
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

/** Renders an error as webob does: as HTML, JSON or plain text, by the client's preference. */
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

/**
 * Returns the offers that an Accept header accepts, best first. If the header is absent or invalid, returns all offers
 * in their order.
 */
export function acceptable(accept: string, offers: readonly string[]): string[] {
  const ranges = parseAccept(accept);
  if (ranges === undefined) {
    return [...offers];
  }
  return offers
    .map((offer, order) => ({ offer, order, q: quality(offer, ranges) }))
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q || a.order - b.order)
    .map(({ offer }) => offer);
}

/** Returns undefined if the Accept header is invalid. */
function parseAccept(accept: string): Range[] | undefined {
  const ranges: Range[] = [];
  for (const part of accept.split(",")) {
    const text = part.trim();
    if (text === "") {
      continue;
    }
    const match = RANGE.exec(text);
    if (match === null) {
      return undefined;
    }
    const parameters = match[2] ?? "";
    const q = QUALITY.exec(parameters)?.[1]?.trim();
    if (q !== undefined && !QUALITY_VALUE.test(q)) {
      return undefined;
    }
    ranges.push({
      type: (match[1] ?? "").toLowerCase(),
      parameters: parameters.replace(QUALITY, "").trim(),
      q: q === undefined ? 1 : Number(q),
    });
  }
  return ranges.length === 0 ? undefined : ranges;
}

function quality(offer: string, ranges: readonly Range[]): number {
  const [major] = offer.split("/");
  const matching = (type: string) => ranges.filter((range) => range.type === type && range.parameters === "");
  const exact = matching(offer);
  const found = exact.length > 0 ? exact : matching(`${major}/*`).length > 0 ? matching(`${major}/*`) : matching("*/*");
  return found.length === 0 ? 0 : Math.max(...found.map((range) => range.q));
}
