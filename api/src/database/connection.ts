import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

interface PostgresConnection {
  connectionString: string;
  ssl?: ConnectionOptions;
}

/** Postgres cannot be used through the pooler of the connection URL (pooler.ts). */
export class UnusablePooler extends Error {
  override name = 'UnusablePooler';
}

/** URL parameters about TLS. They would override the `ssl` option. */
const TLS_PARAMETERS = [
  'ssl',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
];

/**
 * Builds the options of node-postgres. With a certificate authority, it always uses TLS and checks chain and name, even if
 * the URL asks for less. A client certificate in the URL is kept.
 */
export function postgresConnection(url: string, ca: string | undefined): PostgresConnection {
  if (ca === undefined) return { connectionString: url };
  const address = new URL(url);
  const { searchParams } = address;
  const [cert, key] = ['sslcert', 'sslkey'].map((name) => searchParams.get(name));
  for (const name of TLS_PARAMETERS) searchParams.delete(name);
  return {
    connectionString: address.href,
    ssl: {
      ca,
      rejectUnauthorized: true,
      ...(cert && key && { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }),
    },
  };
}
