// tsyringe, which @peculiar/x509 uses, needs it first.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A server certificate for the internal API. Its own authority signs it, and the authority's key is discarded. */
export interface ServerCertificate {
  /** PEM. */
  ca: string;
  cert: string;
  key: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const ISSUER = 'CN=gwk internal';
const DAY_MS = 86_400_000;
const YEARS_MS = 3650 * DAY_MS;
/** Valid one day earlier, because clocks of nodes differ. */
const BEFORE_MS = DAY_MS;

export async function makeServerCertificate(
  names: readonly string[],
  now = new Date(),
): Promise<ServerCertificate> {
  const [authority, server] = await Promise.all([generateKeys(), generateKeys()]);
  const common = {
    issuer: ISSUER,
    notBefore: new Date(now.getTime() - BEFORE_MS),
    notAfter: new Date(now.getTime() + YEARS_MS),
    signingKey: authority.privateKey,
    signingAlgorithm: ALGORITHM,
  };
  const ca = await X509CertificateGenerator.create({
    ...common,
    subject: ISSUER,
    publicKey: authority.publicKey,
    extensions: [
      // A certificate authority for end certificates only.
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  const cert = await X509CertificateGenerator.create({
    ...common,
    subject: 'CN=gwk internal API',
    publicKey: server.publicKey,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
      await AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  const key = PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', server.privateKey),
    'PRIVATE KEY',
  );
  return { ca: `${ca.toString('pem')}\n`, cert: `${cert.toString('pem')}\n`, key: `${key}\n` };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}
