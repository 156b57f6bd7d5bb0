import type { X509Certificate } from "node:crypto";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Files } from "../../../runtime/files.js";
import { certificatesIn, keyIn, misfit } from "./certificate.js";
import type { KeyPair } from "./make-certificates.js";

/** No certificate, or none that can be used; the message says what to do. */
export class TlsUnusable extends Error {
  override readonly name = "TlsUnusable";
}

/** A certificate with the private key that fits it. */
export interface Identity extends KeyPair {
  readonly certificate: X509Certificate;
}

/** Keys are nobody else's. */
const SECRET = { mode: 0o600 };

/** What lies in the state directory's `tls`: key and certificate are one file, so that they change together. */
export class TlsFiles {
  readonly #files: Files;
  readonly #tls: StateDir["tls"];

  constructor(files: Files, { tls }: Pick<StateDir, "tls">) {
    this.#files = files;
    this.#tls = tls;
  }

  /** Undefined: there is none. @throws {TlsUnusable} */
  server(): Promise<Identity | undefined> {
    return this.#identity(this.#tls.server);
  }

  /** Undefined: there is none. @throws {TlsUnusable} */
  authority(): Promise<Identity | undefined> {
    return this.#identity(this.#tls.authority);
  }

  /** The certificate by which agents and clients know the server; undefined: they are to trust the system's authorities. */
  async ca(): Promise<string | undefined> {
    return this.#files.readIfPresent(this.#tls.ca);
  }

  async keepAuthority(authority: KeyPair): Promise<void> {
    await this.#files.write(this.#tls.authority, authority.key + authority.cert, SECRET);
  }

  /**
   * The server's certificate, and with it what clients check it against.
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
 * A certificate, those above it, and its key.
 * @param path what the message names
 * @throws {TlsUnusable}
 */
export function identityIn(path: string, certs: string, keys: string): Identity {
  const unusable = (why: string, cause?: unknown) =>
    new TlsUnusable(`${path} cannot be used for TLS: ${why}; expected a certificate and its key in PEM`, { cause });
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
