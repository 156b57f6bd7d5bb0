import type { ServiceRequest, ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, type HttpError } from "../../http/http-error.js";
import { escapeHtml } from "../../http/responses.js";
import { instancePathOf, reportedError, schemaWords } from "../../http/schema-errors.js";
import { createCompiler } from "../../http/schemas.js";

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

/** Renders an error as Glance's web framework does: as HTML, JSON or plain text, depending on the Accept header. */
export function renderFault(
  { status, message: detail }: HttpError,
  { headers: { accept } }: Pick<ServiceRequest, "headers">,
): ServiceResponse {
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

/** A schema that the API publishes and that validates bodies. */
export interface NamedSchema {
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
}

const compile = createCompiler({ allErrors: true, validateFormats: false });

/** Validates a body. @throws {HttpError} 400 with the message of Glance's validation */
export function checkObject(value: unknown, schema: NamedSchema): void {
  const validate = compile(schema);
  if (validate(value)) {
    return;
  }
  const errors = validate.errors ?? [];
  const error = reportedError(errors);
  const what = error === undefined ? "it is not valid" : schemaWords(error, errors);
  const where = error === undefined ? [] : instancePathOf(error);
  const place = where.length === 0 ? "" : `  On instance${where.map((part) => `['${part}']`).join("")}`;
  throw badRequest(`Provided object does not match schema '${schema.name}': ${what}${place}`);
}
