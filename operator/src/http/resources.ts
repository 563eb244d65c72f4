import {
  InstanceResourceStatus,
  MANIFEST_API_VERSION,
  type InstanceResource,
} from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import { parse as parseYaml } from 'yaml';
import { alreadyExistsError, ApiStatus, invalidError, notFoundError } from '../cluster/local/api-status.js';
import { badRequestError, listCauses, readManifest, type NamedDesired } from '../cluster/local/desired.js';
import type { Store } from '../cluster/local/store.js';
import { authorize, readBody, sendJson, type Exchange } from './exchange.js';
import { applyMergePatch } from './merge-patch.js';
import { servePairingSecret } from './pairing-secret.js';
import { parseSelector } from './selector.js';
import type { Handler } from './server.js';
import { serveEvents } from './events.js';
import { watchChanges } from './watch.js';

const ROUTE = /^\/apis\/gwk\.dev\/v1alpha1(?:\/namespaces\/([^/]+))?\/instances(?:\/([^/]+))?(\/status)?$/;
const APPLY = ['application/apply-patch+yaml', 'application/apply-patch+json'];
const MERGE = 'application/merge-patch+json';
const DEFAULT_MANAGER = 'unknown';

interface Place {
  namespace: string | undefined;
  name: string | undefined;
  status: boolean;
}

interface ResourceAccess {
  token: string | undefined;
  /** While resources are loading, a list would look empty. */
  isLoaded: () => boolean;
  /** State of pairings, by key. */
  pairings: ReadonlyMap<string, PairingView>;
}

/** The Kubernetes API for Instance resources, reduced to the needs of one machine. */
export function createResourcesHandler(store: Store, { token, isLoaded, pairings }: ResourceAccess): Handler {
  return async (exchange) => {
    if (!exchange.path.startsWith('/api')) return false;
    authorize(exchange, token);
    if (!isLoaded()) throw new ApiStatus('ServiceUnavailable', 'the operator is starting');
    if (serveEvents(exchange, store) || servePairingSecret(exchange, pairings)) return true;
    const match = ROUTE.exec(exchange.path);
    if (!match) return false;
    const [, namespace, name, status] = match.map((part) => (part === undefined ? part : decode(part)));
    await serve(exchange, store, { namespace, name, status: status !== undefined });
    return true;
  };
}

async function serve(exchange: Exchange, store: Store, place: Place): Promise<void> {
  const { namespace, name, status } = place;
  const allowed = listMethods(exchange, store, place);
  const method = allowed[exchange.method];
  if (!method || (status && name === undefined)) {
    exchange.response.setHeader('allow', Object.keys(allowed).join(', '));
    throw new ApiStatus('MethodNotAllowed', `${exchange.method} is not allowed here`);
  }
  const done = await method(namespace ?? '', name ?? '');
  if (done) sendJson(exchange, done.code, done.body);
}

type Answer = { code: number; body: unknown } | null;
type Method = (namespace: string, name: string) => Promise<Answer> | Answer;

function listMethods(
  exchange: Exchange,
  store: Store,
  { namespace, name, status }: Place,
): Record<string, Method> {
  const get: Method = (ns, of) => ok(read(store, ns, of));
  if (status) return { GET: get, PATCH: (ns, of) => patchStatus(exchange, store, `${ns}/${of}`) };
  if (name !== undefined && namespace !== undefined) {
    return {
      GET: get,
      PATCH: (ns, of) => patch(exchange, store, { namespace: ns, name: of }),
      DELETE: (ns, of) => remove(exchange, store, `${ns}/${of}`),
    };
  }
  const list: Method = () => listOrWatch(exchange, store, namespace);
  if (namespace === undefined) return { GET: list };
  return { GET: list, POST: (ns) => create(exchange, store, ns) };
}

const ok = (body: unknown): Answer => ({ code: 200, body });

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequestError('the path is not well-formed');
  }
}

function read(store: Store, namespace: string, name: string): InstanceResource {
  const entry = store.get(`${namespace}/${name}`);
  if (!entry) throw notFoundError(name);
  return entry.resource;
}

function listOrWatch(exchange: Exchange, store: Store, namespace: string | undefined): Answer {
  const matches = parseSelector(exchange.query, namespace);
  if (exchange.query.get('watch') === 'true' || exchange.query.get('watch') === '1') {
    watchChanges(exchange, store.entries, matches);
    return null;
  }
  const items = store.entries
    .all()
    .map(({ resource }) => resource)
    .filter(matches);
  return ok({
    apiVersion: MANIFEST_API_VERSION,
    kind: 'InstanceList',
    metadata: { resourceVersion: String(store.entries.version) },
    items,
  });
}

async function create(exchange: Exchange, store: Store, namespace: string): Promise<Answer> {
  const wanted = checkPlace(readManifest(withNamespace(await readObject(exchange), namespace)), {
    namespace,
  });
  if (wanted.resourceVersion !== undefined)
    throw badRequestError('resourceVersion should not be set on objects to be created');
  if (store.get(`${namespace}/${wanted.name}`)) throw alreadyExistsError(wanted.name);
  const manager = exchange.query.get('fieldManager') ?? DEFAULT_MANAGER;
  return { code: 201, body: await store.create(wanted, { manager, force: false }) };
}

async function patch(
  exchange: Exchange,
  store: Store,
  place: { namespace: string; name: string },
): Promise<Answer> {
  const type = contentType(exchange);
  if (type === MERGE) return applyMergePatch(store, place, await readObject(exchange), exchange.query);
  if (!APPLY.includes(type)) throw unsupported(type, [...APPLY, MERGE]);
  const manager = exchange.query.get('fieldManager');
  if (!manager) throw badRequestError('fieldManager is required for apply patch');
  const body = withNamespace(await readObject(exchange), place.namespace);
  const existed = store.get(`${place.namespace}/${place.name}`) !== undefined;
  const wanted = checkPlace(readManifest(partial(body, store, place)), place);
  const applied = {
    ...wanted,
    desired: { ...wanted.desired, spec: (body['spec'] ?? {}) as Record<string, unknown> },
  };
  const resource = await store.apply(applied, { manager, force: exchange.query.get('force') === 'true' });
  return { code: existed ? 200 : 201, body: resource };
}

/** An apply contains only the fields of its manager, so validate it together with the others. */
function partial(
  body: Record<string, unknown>,
  store: Store,
  { namespace, name }: { namespace: string; name: string },
): Record<string, unknown> {
  const entry = store.get(`${namespace}/${name}`);
  const spec = isObject(body['spec']) ? body['spec'] : body['spec'] === undefined ? {} : null;
  if (!entry || spec === null) return body;
  return { ...body, spec: { ...entry.state.desired.spec, ...spec } };
}

async function patchStatus(exchange: Exchange, store: Store, key: string): Promise<Answer> {
  const entry = store.get(key);
  if (!entry) throw notFoundError(key.split('/')[1]!);
  const { status } = await readObject(exchange);
  const result = InstanceResourceStatus.safeParse({
    ...entry.resource.status,
    ...(isObject(status) ? status : {}),
  });
  if (!result.success) throw invalidError(entry.state.name, listCauses(result.error, 'status'));
  await store.setStatus({ key, uid: entry.state.uid }, result.data);
  return ok(store.get(key)?.resource ?? entry.resource);
}

async function remove(exchange: Exchange, store: Store, key: string): Promise<Answer> {
  const text = await readBody(exchange);
  const options = text.trim() === '' ? {} : object(parseBody(text));
  const preconditions = isObject(options['preconditions']) ? options['preconditions'] : {};
  const { uid, resourceVersion } = preconditions as { uid?: string; resourceVersion?: string };
  const resource = await store.delete(key, {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  });
  return ok(store.get(key)?.resource ?? resource);
}

/** @throws ApiStatus */
async function readObject(exchange: Exchange): Promise<Record<string, unknown>> {
  return object(parseBody(await readBody(exchange)));
}

function parseBody(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 10 }) as unknown;
  } catch (error) {
    throw badRequestError(`the body is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}`);
  }
}

function object(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw badRequestError('the body must be an object');
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withNamespace(body: Record<string, unknown>, namespace: string): Record<string, unknown> {
  const metadata = isObject(body['metadata']) ? body['metadata'] : {};
  return { ...body, metadata: { namespace, ...metadata } };
}

function checkPlace(wanted: NamedDesired, place: { namespace: string; name?: string }): NamedDesired {
  if (wanted.namespace !== place.namespace)
    throw badRequestError('the namespace of the object does not match the path');
  if (place.name !== undefined && wanted.name !== place.name) {
    throw badRequestError('the name of the object does not match the path');
  }
  return wanted;
}

function contentType({ request }: Exchange): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function unsupported(type: string, known: string[]): ApiStatus {
  return new ApiStatus(
    'UnsupportedMediaType',
    `${type || 'no content type'}: use one of ${known.join(', ')}`,
  );
}
