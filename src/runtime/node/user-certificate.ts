// The library's container of algorithms wants it to be there first.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import {
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { MadeKey } from "../key-maker.js";
import { toPkcs12 } from "./pkcs12.js";

const YEAR = 365 * 24 * 3_600_000;

/** A certificate that a Windows guest takes instead of a password. */
export async function userCertificate(userId: string, now: number, modulusLength: number): Promise<MadeKey> {
  cryptoProvider.set(webcrypto as never);
  const signingAlgorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [userId] }],
    notBefore: new Date(now),
    notAfter: new Date(now + 10 * YEAR),
    signingAlgorithm,
    keys,
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([{ type: "upn", value: `${userId}@localhost` }]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    privateKey: toPkcs12(new Uint8Array(key), new Uint8Array(certificate.rawData)).toString("base64"),
    publicKey: `${certificate.toString("pem")}\n`,
  };
}
