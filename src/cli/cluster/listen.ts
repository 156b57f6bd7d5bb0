import { isIP } from "node:net";
import { hostname } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import type { ExternalListener } from "../../control-plane/external-listener.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Runtime } from "../../runtime/runtime.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { covers, day, type Identity, ownAddresses, TlsFiles, toCertificateAttributes } from "./tls/tls-files.js";

/** Listener flags of `up` and `control-plane`. */
export interface ListenFlags {
  readonly listen?: Place;
  readonly listenWithoutTls?: true;
}

/** The requested address and port. */
interface Place {
  readonly address: string;
  /** Default: the port of the last start, else 8775. */
  readonly port?: number;
}

const DEFAULT_PORT = 8775;

/** Milliseconds before a certificate's expiry from which on a warning is logged. */
const WARN_BEFORE = 30 * 86_400_000;

export const listenOptions = {
  listen: () =>
    new Option(
      "--listen <address[:port]>",
      "address of a TLS listener for other machines (compute-agent tls); default port: the previous one, otherwise 8775; " +
        "0: any free port",
    ).argParser(placeIn),
  withoutTls: () =>
    new Option(
      "--listen-without-tls",
      "use --listen without TLS; others on the network can then read passwords and tokens",
    ),
};

/** @throws {InvalidArgumentError} */
export function placeIn(text: string): Place {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? (isIP(text) === 6 ? text : undefined);
  const port = digits === undefined ? undefined : Number(digits);
  const isWrong = (bracketed !== undefined && isIP(bracketed) !== 6) || (port ?? 0) > 65_535;
  if (address === undefined || isWrong || !/^[\w.:-]+$/.test(address)) {
    throw new InvalidArgumentError(
      "expected an address of this machine, as 192.0.2.2, 192.0.2.2:8775 or [2001:db8::2]:8775.",
    );
  }
  return port === undefined ? { address } : { address, port };
}

/** Returns the same flags as arguments of a child process. */
export function listenArguments({ listen, listenWithoutTls }: ListenFlags): readonly string[] {
  if (listen === undefined) {
    return listenWithoutTls ? ["--listen-without-tls"] : [];
  }
  const { address, port } = listen;
  const host = address.includes(":") ? `[${address}]` : address;
  const place = port === undefined ? host : `${host}:${port}`;
  return ["--listen", place, ...(listenWithoutTls ? ["--listen-without-tls"] : [])];
}

/** Returns the warnings about these flags. */
export function listenWarnings({ listen, listenWithoutTls }: ListenFlags): readonly string[] {
  const danger =
    "anyone on the network path can read passwords, tokens and the join token, and act as an administrator";
  return listen === undefined || !listenWithoutTls
    ? []
    : [`LISTENING ON ${listen.address} WITHOUT TLS: ${danger}. Remove --listen-without-tls to encrypt`];
}

/**
 * Returns the listener for other machines; undefined if none was requested.
 * @param before its address at the last start
 * @throws {CommandError} there is no certificate for the address, or none that is currently valid
 */
export async function resolveExternalListener(
  { listen, listenWithoutTls }: ListenFlags,
  directory: StateDir,
  { files, clock, logger }: Pick<Runtime, "files" | "clock" | "logger">,
  before: string | undefined,
): Promise<ExternalListener | undefined> {
  if (listen === undefined) {
    if (listenWithoutTls) {
      throw new CommandError(ExitCode.usage, "--listen-without-tls requires --listen ADDRESS");
    }
    return undefined;
  }
  const { address } = listen;
  const last = before === undefined ? undefined : Number(new URL(before).port);
  const port = { port: listen.port ?? last ?? DEFAULT_PORT, ...(last === undefined ? {} : { lastPort: last }) };
  if (listenWithoutTls) {
    for (const warning of listenWarnings({ listen, listenWithoutTls })) {
      logger.warn(warning);
    }
    const host = isAll(address) ? (ownAddresses()[0] ?? hostname()) : address;
    return { address, ...port, host, names: [hostname(), host], cacert: null };
  }
  const tls = new TlsFiles(files, directory);
  const server = await tls.server();
  if (server === undefined) {
    throw new CommandError(
      ExitCode.usage,
      `there is no certificate for listening on ${address}: create one with "${tlsCommand(address, directory)}", and try again; ` +
        "--listen-without-tls listens in plain text",
    );
  }
  const { until } = validateCertificate(server, address, directory, clock.now());
  if (until - clock.now() < WARN_BEFORE) {
    logger.warn(
      `the certificate of the control plane ends on ${day(until)}; "compute-agent tls --renew" creates a new one`,
    );
  }
  const { names } = toCertificateAttributes(server.certificate);
  return {
    address,
    ...port,
    tls: { cert: server.cert, key: server.key },
    host: isAll(address) ? bestOf(names) : address,
    names,
    cacert: (await tls.ca()) === undefined ? null : directory.tls.ca,
  };
}

function validateCertificate({ certificate }: Identity, address: string, directory: StateDir, now: number) {
  const attributes = toCertificateAttributes(certificate);
  const { names, from, until } = attributes;
  const renew = `"${tlsCommand(address, directory)} --renew"`;
  const found = `the certificate of ${directory.tls.server}`;
  if (now < from || now > until) {
    throw new CommandError(
      ExitCode.usage,
      `${found} is valid from ${day(from)} to ${day(until)}, which is not now: create a new one with ${renew}`,
    );
  }
  if (!isAll(address) && !covers(certificate, address)) {
    throw new CommandError(
      ExitCode.usage,
      `${found} is for ${names.join(", ")}, not for ${address}: create a new one with ${renew}`,
    );
  }
  if (names.length === 0) {
    throw new CommandError(
      ExitCode.usage,
      `${found} has no names (subjectAltName), so that no client accepts it: create a new one with ${renew}`,
    );
  }
  return attributes;
}

const isAll = (address: string): boolean => address === "0.0.0.0" || address === "::";

/** Returns the name to announce if the listener is bound to all addresses of the machine. */
function bestOf(names: readonly string[]): string {
  const concreteNames = names.filter((name) => !name.includes("*"));
  return concreteNames.find((name) => isIP(name) !== 0) ?? concreteNames[0] ?? hostname();
}

function tlsCommand(address: string, { root }: StateDir): string {
  const kind = isIP(address) === 0 ? "--name" : "--address";
  return `compute-agent tls --state-dir ${root}${isAll(address) ? "" : ` ${kind} ${address}`}`;
}
