import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Files } from "../../../runtime/files.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import type { KeyPair } from "./make-certificates.js";

/** The attributes of a certificate that users need. */
export interface CertificateAttributes {
  /** `CN=…`, or the complete subject. */
  readonly subject: string;
  /** Names and addresses that the certificate is valid for. */
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  /** SHA-256, as `AB:CD:…`. */
  readonly fingerprint: string;
}

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;

/** Shortens an IPv6 address: `2001:DB8:0:0:0:0:0:2` becomes `2001:db8::2`. */
const shortened = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/** Formats a time as a date in UTC: `2027-11-23`. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** A certificate with its private key. */
export interface Identity extends KeyPair {
  readonly certificate: X509Certificate;
}

/** Files with keys are readable only by their owner. */
const SECRET = { mode: 0o600 };

/** The folder `tls` of the state directory. Key and certificate share one file, so that they change atomically. */
export class TlsFiles {
  readonly #files: Files;
  readonly #tls: StateDir["tls"];

  constructor(files: Files, { tls }: Pick<StateDir, "tls">) {
    this.#files = files;
    this.#tls = tls;
  }

  /** Returns undefined if there is none. @throws {CommandError} */
  server(): Promise<Identity | undefined> {
    return this.#identity(this.#tls.server);
  }

  /** Returns undefined if there is none. @throws {CommandError} */
  authority(): Promise<Identity | undefined> {
    return this.#identity(this.#tls.authority);
  }

  /**
   * Returns the certificate with which agents and clients verify the server; undefined: they trust the system's authorities.
   */
  async ca(): Promise<string | undefined> {
    return this.#files.readIfPresent(this.#tls.ca);
  }

  async keepAuthority(authority: KeyPair): Promise<void> {
    await this.#files.write(this.#tls.authority, authority.key + authority.cert, SECRET);
  }

  /**
   * Saves the server's certificate, and the one to verify it with.
   * @param ca null: the system's authorities
   */
  async keepServer(server: KeyPair, ca: string | null): Promise<void> {
    if (ca === null) {
      await this.#files.remove(this.#tls.ca);
    } else {
      await this.#files.write(this.#tls.ca, ca);
    }
    await this.#files.write(this.#tls.server, server.key + server.cert, SECRET);
  }

  async #identity(path: string): Promise<Identity | undefined> {
    const text = await this.#files.readIfPresent(path);
    return text === undefined ? undefined : identityIn(path, text, text);
  }
}

/**
 * Parses a certificate with its chain and its key.
 * @param path used in the message
 * @throws {CommandError}
 */
export function identityIn(path: string, certs: string, keys: string): Identity {
  const unusable = (why: string, cause?: unknown) =>
    new CommandError(
      ExitCode.usage,
      `${path} cannot be used for TLS: ${why}; expected a certificate and its key in PEM`,
      { cause },
    );
  let certificates: readonly X509Certificate[];
  try {
    certificates = certificatesIn(certs);
  } catch (error) {
    throw unusable("a certificate in it cannot be read", error);
  }
  const [certificate] = certificates;
  const key = keyIn(keys);
  if (certificate === undefined || key === undefined) {
    throw unusable(certificate === undefined ? "there is no certificate" : "there is no private key");
  }
  const wrong = misfit(certificate, key);
  if (wrong !== undefined) {
    throw unusable(wrong);
  }
  return { certificate, cert: certificates.map((each) => each.toString()).join(""), key };
}

/** Returns the certificates of a PEM text, in order. @throws {Error} one of them is unreadable */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  return blocks(pem)
    .filter(({ kind }) => kind === "CERTIFICATE")
    .map(({ text }) => new X509Certificate(text));
}

function keyIn(pem: string): string | undefined {
  return blocks(pem).find(({ kind }) => kind.endsWith("PRIVATE KEY"))?.text;
}

function blocks(pem: string): readonly { readonly kind: string; readonly text: string }[] {
  return [...pem.matchAll(PEM_BLOCK)].map(([text, kind = ""]) => ({ kind, text: `${text}\n` }));
}

export function toCertificateAttributes(certificate: X509Certificate): CertificateAttributes {
  return {
    subject: certificate.subject.replaceAll("\n", ", "),
    names: namesOf(certificate),
    from: Date.parse(certificate.validFrom),
    until: Date.parse(certificate.validTo),
    fingerprint: certificate.fingerprint256,
  };
}

function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  const names = subjectAltName.split(", ").flatMap((each) => /^(?:DNS|IP Address):(.+)$/.exec(each)?.[1] ?? []);
  return names.map((each) => (isIP(each) === 6 ? shortened(each) : each));
}

/** Returns whether the certificate is valid for this name or address. */
export function covers(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** Returns why the key cannot be used with the certificate; undefined if it can. */
function misfit(certificate: X509Certificate, key: string): string | undefined {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
      ? undefined
      : "the key does not belong to the certificate";
  } catch {
    return "the key cannot be read: expected a PEM without a passphrase";
  }
}

/** Returns the addresses by which other machines reach this one: no loopback addresses, and none that need a zone. */
export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((interfaces = []) => interfaces)
    .filter(({ internal, address }) => !internal && !/^fe80:|^169\.254\./i.test(address))
    .map(({ address }) => address);
}
