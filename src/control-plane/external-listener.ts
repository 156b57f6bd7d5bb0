import { AddressInUse, type ListenOptions, type ServerTls, type ServiceHandler } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import { newRequestId } from "./http/request.js";
import { onlyForKnownHosts } from "./http/responses.js";

/** Where the control plane listens for other machines. */
export interface ExternalListener {
  /** `192.0.2.2`, or `0.0.0.0` for all of this machine's. */
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  /** Taken, if it is free, when any port will do. */
  readonly lastPort?: number;
  /** Absent: plain HTTP. */
  readonly tls?: ServerTls;
  /** The name or address by which others are told to reach it. */
  readonly host: string;
  /** Names by which it is asked; addresses and `localhost` always are. */
  readonly names: readonly string[];
  /** Path of the certificate that clients check it by; null: the system's authorities. */
  readonly cacert: string | null;
}

/**
 * Serves on it what is served on loopback.
 * @param watched sees the requests of each service. @throws {AddressInUse} @throws {AddressUnusable}
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
    if (error instanceof AddressInUse) {
      return listen(0);
    }
    throw error;
  }
}
