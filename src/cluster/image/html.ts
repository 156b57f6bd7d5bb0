import type { ServiceResponse } from "../../runtime/service.js";

/** Glance answers errors as pages. */
export function html(status: number, title: string, detail: string): ServiceResponse {
  return {
    status,
    headers: { "content-type": "text/html; charset=UTF-8" },
    body: `<html>
 <head>
  <title>${status} ${title}</title>
 </head>
 <body>
  <h1>${status} ${title}</h1>
  ${escapeHtml(detail)}<br /><br />
 </body>
</html>`,
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
