import type { HttpClient } from "../runtime/http.js";
import { joined, type ServiceHandler } from "../runtime/service.js";
import type { EventLoopTicks } from "./time-slices.js";

/**
 * An HTTP client whose only server is a handler in this process: the control plane needs no socket to reach its
 * Placement.
 * @param ticks where there is no socket to wait for, a thousand builds would run on while all other requests wait
 */
export function inProcessHttp(endpoint: string, handler: ServiceHandler, ticks: EventLoopTicks): HttpClient {
  return {
    request: async ({ method, url, headers = {}, body = "" }) => {
      if (!url.startsWith(`${endpoint}/`) && url !== endpoint) {
        throw new Error(`${url} is not below ${endpoint}`);
      }
      const [path = "", query = ""] = splitOnce(url.slice(endpoint.length), "?");
      if (ticks.due) {
        await ticks.give();
      }
      return joined(await handler({ method, path, query, headers, body, takesRecords: true, baseUrl: endpoint }));
    },
    close: async () => undefined,
  };
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
