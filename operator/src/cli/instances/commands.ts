import type { InstanceResource } from '@gwk/core/resources/manifest';
import { stringify } from 'yaml';
import type { InstancesClient } from './client.js';
import { ServerError } from './client.js';
import { describe } from './describe.js';
import { readManifestArguments, type ManifestDocument } from './manifests.js';
import { buildHeader, buildRow, table, type Columns } from './table.js';
import { CliError } from './target.js';

export interface Terminal {
  client: InstancesClient;
  print: (text: string) => void;
  now: () => number;
}

export type Output = 'wide' | 'json' | 'yaml' | 'name';

interface Where {
  namespace: string;
}

export interface ApplyOptions extends Where {
  filename: string;
  forceConflicts?: boolean;
}

export interface GetOptions extends Where {
  allNamespaces?: boolean;
  output?: Output;
  watch?: boolean;
}

export async function apply({ client, print }: Terminal, options: ApplyOptions): Promise<void> {
  for (const document of readManifestArguments(options.filename)) {
    const namespace = document.namespace ?? options.namespace;
    print(
      `instance.gwk.dev/${document.name} ${await applyOne(client, namespace, document, options.forceConflicts ?? false)}`,
    );
  }
}

async function applyOne(
  client: InstancesClient,
  namespace: string,
  { name, manifest, origin }: ManifestDocument,
  force: boolean,
): Promise<string> {
  const before = await orNull(client.get(namespace, name));
  const after = await client.apply(namespace, name, manifest, force).catch((error: unknown) => {
    if (error instanceof ServerError && error.code === 422) throw new CliError(`${origin}: ${error.message}`);
    throw error;
  });
  if (after.metadata.deletionTimestamp !== undefined) {
    throw new CliError(`${name} is being deleted; apply it again after that`);
  }
  if (!before) return 'created';
  return serializeDesired(before) === serializeDesired(after) ? 'unchanged' : 'configured';
}

const serializeDesired = ({ metadata, spec }: InstanceResource): string =>
  JSON.stringify([metadata.labels, metadata.annotations, spec]);

export async function get(terminal: Terminal, name: string | undefined, options: GetOptions): Promise<void> {
  const { client, print } = terminal;
  const namespace = options.allNamespaces ? null : options.namespace;
  if (name !== undefined && !options.watch) {
    const resource = await client.get(options.namespace, name);
    return print(renderTable([resource], options, terminal) ?? renderDocument(resource, options.output));
  }
  const list = await client.list(namespace, name);
  const text = renderTable(list.items, options, terminal) ?? renderDocument(list, options.output);
  if (text !== '') print(text);
  else if (!options.watch) print(`No instances in ${namespace ?? 'any namespace'}.`);
  if (options.watch)
    await watchInstances(terminal, { namespace, name, version: list.metadata.resourceVersion }, options);
}

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

interface From {
  namespace: string | null;
  name: string | undefined;
  version: string;
}

const RECONNECT_MS = 500;

/** Prints a line for each change until interrupted. Reconnects when the connection ends. */
async function watchInstances(
  terminal: Terminal,
  { namespace, name, version }: From,
  options: GetOptions,
): Promise<never> {
  let from = version;
  const shown = new Map<string, string>();
  for (;;) {
    for await (const { type, object } of terminal.client.watch(namespace, from, name)) {
      // The version is too old: list again and continue from there.
      if (type === 'ERROR') {
        from = (await terminal.client.list(namespace, name)).metadata.resourceVersion;
        break;
      }
      from = object.metadata.resourceVersion;
      const line = renderChange(object, type === 'DELETED', options, terminal);
      // Skip changes outside the columns. The age is a column, but not a change.
      const outline = renderChange(object, type === 'DELETED', options, { ...terminal, now: () => 0 });
      if (shown.get(object.metadata.uid) !== outline) terminal.print(line);
      shown.set(object.metadata.uid, outline);
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
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
  { client, print }: Terminal,
  names: string[],
  { namespace, wait }: Where & { wait: boolean },
): Promise<void> {
  for (const name of names) {
    const { metadata } = await client.delete(namespace, name);
    if (wait) await waitUntilDeleted(client, namespace, { name, uid: metadata.uid });
    print(`instance.gwk.dev/${name} ${wait ? 'deleted' : 'is being deleted'}`);
  }
}

const DELETE_TIMEOUT_MS = 90_000;
const DELETE_POLL_MS = 150;

/** @throws CliError */
async function waitUntilDeleted(
  client: InstancesClient,
  namespace: string,
  { name, uid }: { name: string; uid: string },
): Promise<void> {
  const end = Date.now() + DELETE_TIMEOUT_MS;
  for (;;) {
    const resource = await orNull(client.get(namespace, name));
    if (resource?.metadata.uid !== uid) return;
    if (Date.now() > end) {
      throw new CliError(
        `${name} is still being deleted. To see the reason, run: gwk instances describe ${name}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, DELETE_POLL_MS));
  }
}

export async function describeInstance(
  terminal: Terminal,
  name: string,
  { namespace }: Where,
): Promise<void> {
  const resource = await terminal.client.get(namespace, name);
  const events = await terminal.client.events(namespace, name);
  terminal.print(describe(resource, events, terminal.now()));
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServerError && error.code === 404) return null;
    throw error;
  }
}
