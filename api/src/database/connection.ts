import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

export interface PostgresConnection {
  connectionString: string;
  ssl?: ConnectionOptions;
}

/** What the address can say of TLS. It would win over what is said beside it. */
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
 * How node-postgres is told of an address and, where there is one, of the certificate authority. With an authority TLS
 * is always spoken and both chain and name are checked: an address that asks for less does not get it. A certificate
 * of the client stays where the address names one.
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
