import { VERSION } from '../version.js';
import type { Gateway } from './gateway.js';

export interface OpenApiDocument {
  info: { version: string };
  components?: unknown;
}

/** The OpenAPI document names the version of the gateway. Everybody may read it. */
export const readDocument = (gateway: Gateway): Promise<OpenApiDocument> =>
  gateway.call('GET', '/openapi.json');

export async function readServerVersion(gateway: Gateway): Promise<string> {
  return (await readDocument(gateway)).info.version;
}

/** Null: same minor version. */
export function describeVersions(server: string, own: string = VERSION): string | null {
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  if (minor(server) === minor(own)) return null;
  return `Warning: this is gwk ${own}, and the gateway has version ${server}. Install the gwk of its version.`;
}
