import type { ServiceResponse } from "../../../runtime/service.js";

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Request Entity Too Large",
  415: "Unsupported Media Type",
};

/** An error as Glance's web framework writes it: as a page, as JSON or as plain text, by what the client accepts. */
export function errorPage(status: number, detail: string, accept: string | undefined): ServiceResponse {
  const title = TITLES[status] ?? "Error";
  const head = `${status} ${title}`;
  if (accept === undefined) {
    return page(status, "text/plain; charset=UTF-8", `${head}\n\n${detail}\n\n   `);
  }
  if (accept.includes("html") || accept.includes("*/*")) {
    const body = `<h1>${head}</h1>\n  ${escapeHtml(detail)}<br /><br />`;
    return page(
      status,
      "text/html; charset=UTF-8",
      `<html>\n <head>\n  <title>${head}</title>\n </head>\n <body>\n  ${body}\n\n\n\n </body>\n</html>`,
    );
  }
  if (accept.includes("application/json")) {
    const message = `${escapeHtml(detail)}<br /><br />\n\n\n`;
    return page(status, "application/json", JSON.stringify({ message, code: head, title }));
  }
  return page(status, "text/plain; charset=UTF-8", `${head}\n\n${detail}\n\n   `);
}

function page(status: number, type: string, body: string): ServiceResponse {
  return {
    status,
    headers: { "content-type": type },
    body,
  };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#x27;");
}
