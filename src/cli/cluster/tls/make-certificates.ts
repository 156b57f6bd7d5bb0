// Must be imported first: the library's dependency container needs it.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Beginning and end in milliseconds since the epoch. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Creates a certificate authority that issues server certificates, but no further authorities. */
export async function makeAuthority(name: string, { from, until }: Validity): Promise<KeyPair> {
  cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const cert = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: new Date(from),
    notAfter: new Date(until),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(cert, keys.privateKey);
}

/**
 * Creates a server certificate for these names and addresses, issued by the authority. It does not outlive the authority.
 */
export async function makeServerCertificate(
  authority: KeyPair,
  names: readonly string[],
  { from, until }: Validity,
): Promise<KeyPair> {
  cryptoProvider.set(webcrypto as never);
  const issuer = new X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey(
    "pkcs8",
    PemConverter.decodeFirst(authority.key),
    ALGORITHM,
    false,
    ["sign"],
  );
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const cert = await X509CertificateGenerator.create({
    subject: [{ CN: ["compute-cluster control plane"] }],
    issuer: issuer.subjectName,
    notBefore: new Date(from),
    notAfter: new Date(Math.min(until, issuer.notAfter.getTime())),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(names.map(generalName)),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return pem(cert, keys.privateKey);
}

function generalName(value: string): JsonGeneralName {
  return { type: isIP(value) === 0 ? "dns" : "ip", value };
}

async function pem(cert: X509Certificate, key: webcrypto.CryptoKey): Promise<KeyPair> {
  const bytes = await webcrypto.subtle.exportKey("pkcs8", key);
  return { cert: `${cert.toString("pem")}\n`, key: `${PemConverter.encode(bytes, PemConverter.PrivateKeyTag)}\n` };
}
