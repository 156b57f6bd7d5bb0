import type { ServiceHandler } from "../../runtime/service.js";
import { openstackError } from "./openstack-error.js";

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/**
 * Answers only requests that were sent to an address, to `localhost` or to one of these names, of which `*.example.org` stands for
 * all hosts of a domain. A web page can make its own name
 * lead to this machine (DNS rebinding) and then talk to the service as if it were its own; the browser's Host header tells.
 * A request without the header comes from no browser.
 * @param how a further name is made known, for the message: `given with --server-name`
 */
export function onlyForKnownHosts(
  handler: ServiceHandler,
  names: readonly string[],
  newRequestId: () => string,
  how = "given with --server-name",
): ServiceHandler {
  const known = new Set(["localhost", ...names].map((name) => name.toLowerCase()));
  return (request) => {
    const { host } = request.headers;
    const name = host?.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
    if (name === undefined || known.has(name) || ADDRESS.test(name) || known.has(inDomain(name))) {
      return handler(request);
    }
    const expected = `found ${JSON.stringify(host)}, expected an address, ${[...known].join(", ")} or a name ${how}`;
    const reason = `the Host header names no host of this service: ${expected}`;
    return openstackError({ status: 403, reason, requestId: newRequestId() });
  };
}

const inDomain = (name: string): string => name.replace(/^[^.]*/, "*");
