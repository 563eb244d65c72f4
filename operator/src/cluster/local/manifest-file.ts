import { isMap, parseAllDocuments, stringify, type Document, type ParsedNode } from 'yaml';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { readManifest, type Manifest, type WrittenSpec } from './manifest.js';

/**
 * A manifest in a file: YAML with any number of documents, or JSON. Edits keep comments, field order and other
 * documents.
 */
export interface FileManifest extends Manifest {
  /** Index of the document in the file. */
  index: number;
  written: WrittenSpec;
}

type Parsed = Document.Parsed<ParsedNode>;

/** @throws Error with a message to follow the file name; then the whole file is ignored */
export function readManifests(text: string): FileManifest[] {
  const documents = parse(text);
  const manifests = documents.flatMap((document, index) => {
    const body = document.toJS() as { spec: WrittenSpec } | null | undefined;
    if (body === null || body === undefined) return [];
    return [{ ...readManifest(body), index, written: body.spec }];
  });
  // The file is empty for a moment while an editor truncates it or a copy is in progress.
  if (manifests.length === 0) throw new Error('it is empty');
  return manifests;
}

function parse(text: string): Parsed[] {
  const documents = parseAllDocuments(text);
  if ('empty' in documents) return [];
  for (const { errors } of documents) if (errors[0]) throw new Error(errors[0].message.split('\n')[0]);
  return documents;
}

function isJson(file: string): boolean {
  return file.endsWith('.json');
}

export function renderManifest(file: string, manifest: object): string {
  return isJson(file) ? `${JSON.stringify(manifest, null, 2)}\n` : stringify(manifest);
}

/** Returns the text with one document replaced by `manifest`. */
export function replaceDocument(file: string, text: string, index: number, manifest: object): string {
  if (isJson(file)) return renderManifest(file, manifest);
  const documents = parse(text);
  const document = documents[index];
  if (document && isMap(document.contents)) reconcile(document, [], document.toJS(), manifest);
  return join(documents);
}

/** Returns the text without one document; null if nothing is left. */
export function removeDocument(file: string, text: string, index: number): string | null {
  if (isJson(file)) return null;
  const documents = parse(text);
  const left = documents.filter((document, at) => at !== index && document.toJS() !== null);
  return left.length === 0 ? null : join(left);
}

function join(documents: Parsed[]): string {
  for (const document of documents.slice(1)) document.directives.docStart = true;
  return documents.map((document) => document.toString({ lineWidth: 0 })).join('');
}

/** Sets changed keys and removes missing ones. Unchanged nodes keep their comments. */
function reconcile(document: Parsed, path: string[], before: unknown, after: object): void {
  const old = (before ?? {}) as Record<string, unknown>;
  for (const key of Object.keys(old)) if (!(key in after)) document.deleteIn([...path, key]);
  for (const [key, value] of Object.entries(after) as [string, unknown][]) {
    if (key in old && canonicalJson(old[key]) === canonicalJson(value)) continue;
    if (isObject(old[key]) && isObject(value)) reconcile(document, [...path, key], old[key], value);
    else document.setIn([...path, key], value);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
