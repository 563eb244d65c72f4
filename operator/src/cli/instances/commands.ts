import {
  ResourceInvalid,
  type DesiredState,
  type Place,
  type OperatorDesiredState,
} from '@gwk/core/desired-state/desired-state';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { MANIFEST_API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { changeResource } from './change.js';
import { describe } from './describe.js';
import { readManifestArguments, type ManifestDocument } from './manifests.js';
import { buildHeader, buildRow, table, type Columns } from './table.js';
import { CliError } from './target.js';

export interface Terminal {
  state: OperatorDesiredState;
  print: (text: string) => void;
  now: () => number;
}

export type Output = 'wide' | 'json' | 'yaml' | 'name';

interface Where {
  namespace: string;
}

export interface ApplyOptions extends Where {
  filename: string;
}

export interface GetOptions extends Where {
  allNamespaces?: boolean;
  output?: Output;
  watch?: boolean;
}

/** Annotation with the fields of the spec that the last apply contained. An apply removes those that it leaves out. */
const APPLIED_FIELDS = 'gwk.dev/applied-fields';

export async function apply({ state, print }: Terminal, options: ApplyOptions): Promise<void> {
  for (const document of readManifestArguments(options.filename)) {
    const result = await applyOne(state, document, document.namespace ?? options.namespace);
    print(`instance.gwk.dev/${document.name} ${result}`);
  }
}

async function applyOne(
  state: DesiredState,
  document: ManifestDocument,
  namespace: string,
): Promise<'created' | 'configured' | 'unchanged'> {
  const { name, metadata, spec, origin } = document;
  const annotations = { ...metadata.annotations, [APPLIED_FIELDS]: Object.keys(spec).join() };
  const given = { ...metadata, namespace, name, annotations };
  try {
    const changed = await changeResource(state, given, (before) => mergeManifest(before, given, spec));
    if (!changed) {
      await state.create({ metadata: given, spec: spec as InstanceResource['spec'] });
      return 'created';
    }
    const { before, after } = changed;
    return serializeDesired(before) === serializeDesired(after) ? 'unchanged' : 'configured';
  } catch (error) {
    if (error instanceof ResourceInvalid) throw new CliError(`${origin}: ${error.message}`);
    throw error;
  }
}

/** Keeps what the manifest never contained: others, like the API, wrote it. @throws CliError */
function mergeManifest(
  before: InstanceResource,
  { labels, annotations }: ManifestDocument['metadata'],
  spec: ManifestDocument['spec'],
): InstanceResource {
  const { metadata } = before;
  if (metadata.deletionTimestamp !== undefined)
    throw new CliError(`${metadata.name} is being deleted; apply it again after that`);
  const applied = metadata.annotations?.[APPLIED_FIELDS]?.split(',') ?? [];
  const kept = Object.entries(before.spec).filter(([field]) => !applied.includes(field));
  return {
    ...before,
    metadata: {
      ...metadata,
      ...(labels && { labels: { ...metadata.labels, ...labels } }),
      annotations: { ...metadata.annotations, ...annotations },
    },
    spec: { ...Object.fromEntries(kept), ...spec } as InstanceResource['spec'],
  };
}

function serializeDesired({ metadata, spec }: InstanceResource): string {
  return canonicalJson([metadata.labels, { ...metadata.annotations, [APPLIED_FIELDS]: null }, spec]);
}

export async function get(terminal: Terminal, name: string | undefined, options: GetOptions): Promise<void> {
  const { state, print } = terminal;
  const namespace = options.allNamespaces ? null : options.namespace;
  if (name !== undefined && !options.watch) {
    const resource = await state.get({ namespace: options.namespace, name });
    if (!resource) throw notFound(name);
    return print(renderTable([resource], options, terminal) ?? renderDocument(resource, options.output));
  }
  const list = async () =>
    (await state.list(namespace)).filter(({ metadata }) => name === undefined || metadata.name === name);
  const items = await list();
  const text = renderTable(items, options, terminal) ?? renderDocument(buildList(items), options.output);
  if (text !== '') print(text);
  else if (!options.watch) print(`No instances in ${namespace ?? 'any namespace'}.`);
  if (options.watch) await watchInstances(terminal, { items, list }, options);
}

const notFound = (name: string): CliError => new CliError(`NotFound: instances.gwk.dev "${name}" not found`);

const buildList = (items: InstanceResource[]): object => ({
  apiVersion: MANIFEST_API_VERSION,
  kind: 'InstanceList',
  items,
});

/** Null for document formats. */
function renderTable(items: InstanceResource[], options: GetOptions, { now }: Terminal): string | null {
  if (options.output === 'json' || options.output === 'yaml') return null;
  if (options.output === 'name')
    return items.map(({ metadata }) => `instance.gwk.dev/${metadata.name}`).join('\n');
  if (items.length === 0) return '';
  const columns = selectColumns(options);
  return table([buildHeader(columns), ...items.map((item) => buildRow(item, columns, now()))]);
}

const selectColumns = ({ allNamespaces = false, output }: GetOptions): Columns => ({
  namespace: allNamespaces,
  wide: output === 'wide',
});

function renderDocument(value: object, output: Output | undefined): string {
  return output === 'json' ? JSON.stringify(value, null, 2) : stringify(value).trimEnd();
}

const POLL_MS = 500;

/** Prints a line for each change until interrupted. */
async function watchInstances(
  terminal: Terminal,
  { items, list }: { items: InstanceResource[]; list: () => Promise<InstanceResource[]> },
  options: GetOptions,
): Promise<never> {
  // Skip changes outside the columns. The age is a column, but not a change.
  const outline = (resource: InstanceResource) =>
    renderChange(resource, false, options, { ...terminal, now: () => 0 });
  let shown = new Map(items.map((item) => [item.metadata.uid, item]));
  for (;;) {
    await sleep(POLL_MS);
    const present = new Map((await list()).map((item) => [item.metadata.uid, item]));
    for (const [uid, item] of present) {
      const before = shown.get(uid);
      if (!before || outline(before) !== outline(item))
        terminal.print(renderChange(item, false, options, terminal));
    }
    for (const [uid, item] of shown)
      if (!present.has(uid)) terminal.print(renderChange(item, true, options, terminal));
    shown = present;
  }
}

function renderChange(
  resource: InstanceResource,
  isDeleted: boolean,
  options: GetOptions,
  { now }: Terminal,
): string {
  if (options.output === 'json' || options.output === 'yaml') return renderDocument(resource, options.output);
  const row = buildRow(resource, selectColumns(options), now());
  return isDeleted ? `${row.join('   ')}   (deleted)` : row.join('   ');
}

export async function remove(
  { state, print }: Terminal,
  names: string[],
  { namespace, wait }: Where & { wait: boolean },
): Promise<void> {
  for (const name of names) {
    const place = { namespace, name };
    const resource = await state.get(place);
    if (!resource) throw notFound(name);
    await state.delete(place);
    if (wait) await waitUntilDeleted(state, place, resource.metadata.uid);
    print(`instance.gwk.dev/${name} ${wait ? 'deleted' : 'is being deleted'}`);
  }
}

const DELETE_TIMEOUT_MS = 90_000;
const DELETE_POLL_MS = 150;

/** @throws CliError */
async function waitUntilDeleted(state: DesiredState, place: Place, uid: string): Promise<void> {
  const end = Date.now() + DELETE_TIMEOUT_MS;
  while ((await state.get(place))?.metadata.uid === uid) {
    if (Date.now() > end)
      throw new CliError(
        `${place.name} is still being deleted. To see the reason, run: gwk instances describe ${place.name}`,
      );
    await sleep(DELETE_POLL_MS);
  }
}

export async function describeInstance(
  { state, print, now }: Terminal,
  name: string,
  { namespace }: Where,
): Promise<void> {
  const details = await state.details({ namespace, name });
  if (!details) throw notFound(name);
  print(describe(details.resource, details.events, now()));
}
