import { isManifestVersion, MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CliError } from './target.js';

/** A document to apply, and its origin. */
export interface ManifestDocument {
  origin: string;
  namespace: string | null;
  name: string;
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
}

const STDIN = 0;

/** Reads the documents of a file, of all files of a folder, or of standard input. @throws CliError */
export function readManifestArguments(place: string): ManifestDocument[] {
  const documents = readFiles(place).flatMap(({ origin, text }) => parseDocuments(origin, text));
  if (documents.length === 0) throw new CliError(`${place}: no manifest found`);
  return documents;
}

function readFiles(place: string): { origin: string; text: string }[] {
  try {
    if (place === '-') return [{ origin: 'standard input', text: readFileSync(STDIN, 'utf8') }];
    if (!statSync(place).isDirectory()) return [{ origin: place, text: readFileSync(place, 'utf8') }];
    const names = readdirSync(place).filter((name) => /\.(ya?ml|json)$/.test(name) && !name.startsWith('.'));
    return names.sort().map((name) => {
      const path = join(place, name);
      return { origin: path, text: readFileSync(path, 'utf8') };
    });
  } catch (error) {
    throw new CliError(`${place} is not readable: ${(error as Error).message}`);
  }
}

function parseDocuments(origin: string, text: string): ManifestDocument[] {
  const documents = parseAllDocuments(text);
  if ('empty' in documents) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new CliError(`${origin}: ${error.message}`);
    const body = document.toJS() as unknown;
    return body === null || body === undefined
      ? []
      : listItems(body).map((item) => parseDocument(origin, item));
  });
}

/** `get -o yaml` prints several instances as a list. */
function listItems(body: unknown): unknown[] {
  const { items } = body as { items?: unknown };
  return Array.isArray(items) ? (items as unknown[]) : [body];
}

/** Takes only the fields that users write. The operator validates them. */
function parseDocument(origin: string, item: unknown): ManifestDocument {
  const { apiVersion, kind, metadata, spec = {} } = item as Record<string, unknown>;
  if (kind !== 'Instance') throw new CliError(`${origin}: ${JSON.stringify(kind)} is not of kind Instance`);
  const { name, namespace, labels, annotations } = (metadata ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string') throw new CliError(`${origin}: metadata.name is missing`);
  if (!isManifestVersion(apiVersion))
    throw new CliError(`${origin}: apiVersion is not ${MANIFEST_API_VERSION}`);
  return {
    origin,
    name,
    namespace: typeof namespace === 'string' ? namespace : null,
    metadata: { labels, annotations } as ManifestDocument['metadata'],
    spec: spec as Record<string, unknown>,
  };
}
