import { AddressUnusable, type ListenOptions, type ServerTls, type ServiceHandler } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import { newRequestId } from "./http/request.js";
import { onlyForKnownHosts } from "./http/responses.js";

/** Options of the listener for other machines. */
export interface ExternalListener {
  /** `192.0.2.2`, or `0.0.0.0` for all interfaces. */
  readonly address: string;
  /** 0 for any free port. */
  readonly port: number;
  /** With `port` 0, this port is used if it is free. */
  readonly lastPort?: number;
  /** Absent for plain HTTP. */
  readonly tls?: ServerTls;
  /** The name or address in the listener's published URL. */
  readonly host: string;
  /** Accepted names in the Host header; addresses and `localhost` are always accepted. */
  readonly names: readonly string[];
  /** Path of the CA certificate for clients; null uses the system's authorities. */
  readonly cacert: string | null;
}

/**
 * Opens a listener with the same services as the loopback listener.
 * @param watched wraps each service to observe its requests
 * @throws {AddressUnusable}
 */
export async function openExternalListener(
  { address, port, lastPort, tls, host, names }: ExternalListener,
  { services, ...listenOptions }: Pick<ListenOptions, "services" | "isLowPriority" | "sockets" | "reject">,
  { servers, random }: Pick<Runtime, "servers" | "random">,
  watched: (mount: string, handler: ServiceHandler) => ServiceHandler,
): Promise<{ readonly url: string; close(grace?: number): Promise<void> }> {
  const guarded = Object.entries(services).map(([mount, handler]) => [
    mount,
    watched(
      mount,
      onlyForKnownHosts(handler, names, () => newRequestId(random), "of its certificate"),
    ),
  ]);
  const listen = (port: number) =>
    servers.listen({ address, port, services: Object.fromEntries(guarded), ...listenOptions, ...(tls && { tls }) });
  const listener = port === 0 && lastPort !== undefined ? await listen(lastPort).catch(freePort) : await listen(port);
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${listener.port}`,
    close: (grace) => listener.close(grace),
  };

  function freePort(error: unknown) {
    if (error instanceof AddressUnusable && error.code === "EADDRINUSE") {
      return listen(0);
    }
    throw error;
  }
}
