import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** What a person wants to know of a certificate. */
export interface CertificateAttributes {
  /** `CN=…`, or whatever its subject says. */
  readonly subject: string;
  /** Names and addresses that it is for. */
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  /** SHA-256, as `AB:CD:…`. */
  readonly fingerprint: string;
}

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;

/** The certificates of a PEM text, in its order. @throws {Error} one of them cannot be read. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  return blocks(pem)
    .filter(({ kind }) => kind === "CERTIFICATE")
    .map(({ text }) => new X509Certificate(text));
}

/** The private key of a PEM text; undefined: it has none. */
export function keyIn(pem: string): string | undefined {
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

/** `2001:DB8:0:0:0:0:0:2` as `2001:db8::2`. */
const shortened = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/** Whether clients that ask for this name or address take the certificate. */
export function covers(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** What keeps a server from using the key with the certificate; undefined: nothing. */
export function misfit(certificate: X509Certificate, key: string): string | undefined {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key)) ? undefined : "the key is not that of the certificate";
  } catch {
    return "the key cannot be read: expected a PEM without a passphrase";
  }
}

/** `2027-11-23`, in UTC. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
