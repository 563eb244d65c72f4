import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import * as der from './der.js';

/** A server certificate for the internal API. Its own authority signs it, and the authority's key is discarded. */
export interface ServerCertificate {
  /** PEM. */
  ca: string;
  cert: string;
  key: string;
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  names: '2.5.29.17',
  constraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extendedUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

const DAY_MS = 86_400_000;
const YEARS_MS = 3650 * DAY_MS;
/** Valid one day earlier, because clocks of nodes differ. */
const BEFORE_MS = DAY_MS;

export function makeServerCertificate(names: readonly string[], now = new Date()): ServerCertificate {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = encodeName('gwk internal');
  const common = { issuer, now, signer: authority.privateKey };
  const ca = certificate({
    ...common,
    subject: issuer,
    publicKey: authority.publicKey,
    extensions: [
      // A certificate authority for end certificates only.
      extension(OID.constraints, der.sequence(der.trueValue(), der.integer(Buffer.from([0]))), true),
      extension(OID.keyUsage, der.bits(Buffer.from([0x06]), 1), true),
      extension(OID.subjectKey, der.octets(hashKey(authority.publicKey))),
    ],
  });
  const cert = certificate({
    ...common,
    subject: encodeName('gwk internal API'),
    publicKey: server.publicKey,
    extensions: [
      extension(OID.keyUsage, der.bits(Buffer.from([0x80]), 7), true),
      extension(OID.extendedUsage, der.sequence(der.oid(OID.serverAuth))),
      extension(OID.names, der.sequence(...names.map((name) => der.implicit(2, Buffer.from(name, 'ascii'))))),
      extension(OID.authorityKey, der.sequence(der.implicit(0, hashKey(authority.publicKey)))),
    ],
  });
  const key = server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { ca: pem(ca), cert: pem(cert), key };
}

interface Parts {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signer: KeyObject;
  extensions: Buffer[];
  now: Date;
}

function certificate({ issuer, subject, publicKey, signer, extensions, now }: Parts): Buffer {
  const algorithm = der.sequence(der.oid(OID.ecdsaWithSha256));
  const [from, to] = [new Date(now.getTime() - BEFORE_MS), new Date(now.getTime() + YEARS_MS)];
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(randomBytes(16)),
    algorithm,
    issuer,
    der.sequence(der.time(from), der.time(to)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  return der.sequence(body, algorithm, der.bits(sign('sha256', body, signer)));
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.trueValue()] : []), der.octets(value));
}

const encodeName = (commonName: string): Buffer =>
  der.sequence(der.set(der.sequence(der.oid(OID.commonName), der.text(commonName))));

const hashKey = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
