import type { BrokerAddress } from "../../runtime/message-broker.js";
import { NovaRpcError } from "../errors.js";

const SCHEMES = /^(rabbit|kombu|amqp):\/\//i;
/** The default port, with TLS as well. */
const PORT = 5672;

interface Host {
  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

/** The broker's addresses and credentials from a transport_url; its query contains options. */
export type TransportUrl = Omit<BrokerAddress, "tls">;

/**
 * Parses `rabbit://user:pass@h1:5672,user:pass@h2:5672/vhost?ssl=1` as oslo.messaging does. A host without a user has no
 * credentials, not those of the previous host. The virtual host follows the first slash; an empty one is `/`.
 * @throws {InvalidTransportUrl}
 */
export function parseTransportUrl(url: string): TransportUrl {
  if (!SCHEMES.test(url)) {
    throw new NovaRpcError(
      "InvalidTransportUrl",
      "[DEFAULT] transport_url is not of the form rabbit://user:password@host:port/",
    );
  }
  const [rest = ""] = split(url.replace(SCHEMES, ""), "?");
  const [hosts = "", path = ""] = split(rest, "/");
  const parsed = hosts.split(",").map(parseHost);
  const [first] = parsed;
  if (first === undefined || parsed.some(({ hostname }) => hostname === "")) {
    throw new NovaRpcError("InvalidTransportUrl", "[DEFAULT] transport_url has no host");
  }
  // The AMQP library uses the same credentials for all hosts.
  const others = parsed.filter(({ username, password }) => username !== first.username || password !== first.password);
  if (others.length > 0) {
    throw new NovaRpcError(
      "InvalidTransportUrl",
      `[DEFAULT] transport_url has another user or password for ${others.map(({ hostname }) => hostname).join(", ")} than for ` +
        `${first.hostname}; all hosts of a cluster must have the same`,
    );
  }
  return {
    hosts: parsed.map(({ hostname, port }) => ({ hostname, port })),
    username: first.username,
    password: first.password,
    virtualHost: decode(path === "" || path === "/" ? "/" : path),
  };
}

/** Returns the hosts without credentials, for messages. */
export function withoutPasswords({ hosts, virtualHost }: Pick<TransportUrl, "hosts" | "virtualHost">): string {
  const places = hosts.map(({ hostname, port }) => `${hostname}:${port}`).join(",");
  return `rabbit://${places}/${virtualHost === "/" ? "" : virtualHost}`;
}

function parseHost(text: string): Host {
  const at = text.lastIndexOf("@");
  const [username = "", password = ""] = at < 0 ? ["guest", "guest"] : split(text.slice(0, at), ":").map(decode);
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d+))?$/.exec(text.slice(at + 1)) ?? [];
  const hostname = bracketed ?? plain;
  if (hostname === undefined) {
    throw new NovaRpcError(
      "InvalidTransportUrl",
      "[DEFAULT] transport_url has an invalid host; write IPv6 addresses in brackets",
    );
  }
  return { hostname, port: port === undefined ? PORT : Number(port), username, password };
}

/** Splits at the first occurrence. */
function split(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new NovaRpcError(
      "InvalidTransportUrl",
      "[DEFAULT] transport_url has a % that does not begin an encoded character",
    );
  }
}
