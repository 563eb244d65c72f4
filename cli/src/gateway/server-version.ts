import { ApiError } from '@gwk/client';
import { VERSION } from '../version.js';
import { fetchFrom, type Access } from './client.js';

export interface OpenApiDocument {
  info: { version: string };
  components?: unknown;
}

const TIMEOUT_MS = 15_000;

/** The OpenAPI document names the version of the gateway. Everybody may read it. `date`: clock of the gateway. */
export async function readDocument({
  url,
}: Access): Promise<{ document: OpenApiDocument; date: string | null }> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetchFrom(url, new Request(`${url}/openapi.json`, { signal }));
  const body: unknown = await response.json();
  if (!response.ok) throw new ApiError(body as object, response);
  return { document: body as OpenApiDocument, date: response.headers.get('date') };
}

export async function readServerVersion(access: Access): Promise<string> {
  return (await readDocument(access)).document.info.version;
}

/** Null: same minor version. */
export function describeVersions(server: string, own: string = VERSION): string | null {
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  if (minor(server) === minor(own)) return null;
  return `Warning: this is gwk ${own}, and the gateway has version ${server}. Install the gwk of its version.`;
}
