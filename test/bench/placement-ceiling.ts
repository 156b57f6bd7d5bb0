/**
 * The upper bound: a bare node:http server that reads a request and responds with a body of the size in the path, and as
 * many headers as Placement. Prints its URL.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const bodies = new Map<number, string>();

const server = createServer((request, response) => {
  const size = Number(request.url?.slice(1));
  let body = bodies.get(size);
  if (body === undefined) {
    body = "x".repeat(size);
    bodies.set(size, body);
  }
  request.on("data", () => {});
  request.on("end", () => {
    const headers = {
      "openstack-api-version": "placement 1.39",
      vary: "openstack-api-version",
      "x-openstack-request-id": "req-00000000-0000-4000-8000-000000000000",
    };
    if (size === 0) {
      response.writeHead(204, headers);
      response.end();
    } else {
      response.writeHead(200, { ...headers, "content-type": "application/json", "content-length": size });
      response.end(body);
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ceiling ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
