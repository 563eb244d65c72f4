import type { InstanceResource } from '@gwk/core/resources/manifest';
import { stringify } from 'yaml';
import type { InstancesClient } from './client.js';
import { ServerRefusal } from './client.js';
import { describe } from './describe.js';
import { readManifestArguments, type Given } from './manifests.js';
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
  for (const given of readManifestArguments(options.filename)) {
    const namespace = given.namespace ?? options.namespace;
    print(
      `instance.gwk.dev/${given.name} ${await applyOne(client, namespace, given, options.forceConflicts ?? false)}`,
    );
  }
}

async function applyOne(
  client: InstancesClient,
  namespace: string,
  { name, manifest, origin }: Given,
  force: boolean,
): Promise<string> {
  const before = await orNull(client.get(namespace, name));
  const after = await client.apply(namespace, name, manifest, force).catch((error: unknown) => {
    if (error instanceof ServerRefusal && error.code === 422)
      throw new CliError(`${origin}: ${error.message}`);
    throw error;
  });
  if (after.metadata.deletionTimestamp !== undefined) {
    throw new CliError(`${name} is being deleted; apply it again once it is gone`);
  }
  if (!before) return 'created';
  return said(before) === said(after) ? 'unchanged' : 'configured';
}

const said = ({ metadata, spec }: InstanceResource): string =>
  JSON.stringify([metadata.labels, metadata.annotations, spec]);

export async function get(terminal: Terminal, name: string | undefined, options: GetOptions): Promise<void> {
  const { client, print } = terminal;
  const namespace = options.allNamespaces ? null : options.namespace;
  if (name !== undefined && !options.watch) {
    const resource = await client.get(options.namespace, name);
    return print(rendered([resource], options, terminal) ?? document(resource, options.output));
  }
  const list = await client.list(namespace, name);
  const text = rendered(list.items, options, terminal) ?? document(list, options.output);
  if (text !== '') print(text);
  else if (!options.watch) print(`No instances in ${namespace ?? 'any namespace'}.`);
  if (options.watch)
    await follow(terminal, { namespace, name, version: list.metadata.resourceVersion }, options);
}

/** Null where a document is wanted. */
function rendered(items: InstanceResource[], options: GetOptions, { now }: Terminal): string | null {
  if (options.output === 'json' || options.output === 'yaml') return null;
  if (options.output === 'name')
    return items.map(({ metadata }) => `instance.gwk.dev/${metadata.name}`).join('\n');
  if (items.length === 0) return '';
  const columns = columnsOf(options);
  return table([buildHeader(columns), ...items.map((item) => buildRow(item, columns, now()))]);
}

const columnsOf = ({ allNamespaces = false, output }: GetOptions): Columns => ({
  namespace: allNamespaces,
  wide: output === 'wide',
});

function document(value: object, output: Output | undefined): string {
  return output === 'json' ? JSON.stringify(value, null, 2) : stringify(value).trimEnd();
}

interface From {
  namespace: string | null;
  name: string | undefined;
  version: string;
}

const AGAIN_MS = 500;

/** A line for each change, until interrupted; a connection that ends is made again. */
async function follow(
  terminal: Terminal,
  { namespace, name, version }: From,
  options: GetOptions,
): Promise<never> {
  let from = version;
  const shown = new Map<string, string>();
  for (;;) {
    for await (const { type, object } of terminal.client.watch(namespace, from, name)) {
      // The version is too old: what is now is listed, and followed from there.
      if (type === 'ERROR') {
        from = (await terminal.client.list(namespace, name)).metadata.resourceVersion;
        break;
      }
      from = object.metadata.resourceVersion;
      const line = changed(object, type === 'DELETED', options, terminal);
      // Much of what changes is not in the columns. The age is, and it is no change.
      const outline = changed(object, type === 'DELETED', options, { ...terminal, now: () => 0 });
      if (shown.get(object.metadata.uid) !== outline) terminal.print(line);
      shown.set(object.metadata.uid, outline);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function changed(resource: InstanceResource, gone: boolean, options: GetOptions, { now }: Terminal): string {
  if (options.output === 'json' || options.output === 'yaml') return document(resource, options.output);
  const row = buildRow(resource, columnsOf(options), now());
  return gone ? `${row.join('   ')}   (deleted)` : row.join('   ');
}

export async function remove(
  { client, print }: Terminal,
  names: string[],
  { namespace, wait }: Where & { wait: boolean },
): Promise<void> {
  for (const name of names) {
    const { metadata } = await client.delete(namespace, name);
    if (wait) await gone(client, namespace, { name, uid: metadata.uid });
    print(`instance.gwk.dev/${name} ${wait ? 'deleted' : 'is being deleted'}`);
  }
}

const GONE_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 150;

/** @throws CliError */
async function gone(
  client: InstancesClient,
  namespace: string,
  { name, uid }: { name: string; uid: string },
): Promise<void> {
  const end = Date.now() + GONE_WITHIN_MS;
  for (;;) {
    const resource = await orNull(client.get(namespace, name));
    if (resource?.metadata.uid !== uid) return;
    if (Date.now() > end) {
      throw new CliError(`${name} is still being deleted. See why: gwk instances describe ${name}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

export async function describeInstance(terminal: Terminal, name: string, { namespace }: Where): Promise<void> {
  const resource = await terminal.client.get(namespace, name);
  const events = await terminal.client.events(namespace, name);
  terminal.print(describe(resource, events, terminal.now()));
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServerRefusal && error.code === 404) return null;
    throw error;
  }
}
