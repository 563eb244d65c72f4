import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MANIFEST_API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';

/**
 * Keeps Instance resources in memory and serves the Kubernetes API calls that the API tier uses: get, create, delete,
 * and a JSON patch with its optimistic lock. Tests can make it hang, fail, or simulate a concurrent writer.
 */
export class ClusterServer {
  readonly resources = new Map<string, InstanceResource>();
  mood: 'well' | 'hangs' | 'fails' = 'well';
  /** Calls received while it hung. */
  hanging = 0;
  /** Runs before the next write. Tests use it to write from a second client. */
  beforeWrite: (() => void) | null = null;
  url = '';
  readonly #server: Server;
  #version = 0;

  constructor(readonly token: string) {
    this.#server = createServer((req, res) => void this.#serve(req, res));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Changes the spec as another writer. */
  edit(name: string, spec: Partial<InstanceResource['spec']>): InstanceResource {
    const [key] = [...this.resources.keys()].filter((item) => item.endsWith(`/${name}`));
    return this.#put(key!, spec, this.resources.get(key!)!.metadata.labels);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    if (this.mood === 'hangs') {
      this.hanging += 1;
      return;
    }
    const { status, body } = this.#answer(req, Buffer.concat(chunks).toString());
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #answer(req: IncomingMessage, text: string): { status: number; body: unknown } {
    if (this.mood === 'fails') return failure(500);
    if (req.headers.authorization !== `Bearer ${this.token}`) return failure(401);
    const [, namespace = '', name] =
      /\/namespaces\/([^/]+)\/instances(?:\/([^/?]+))?(?:\?|$)/.exec(req.url ?? '') ?? [];
    if (req.method === 'POST') return this.#create(namespace, JSON.parse(text) as InstanceResource);
    const key = `${namespace}/${name}`;
    if (req.method === 'PATCH') return this.#change(key, JSON.parse(text) as { value: unknown }[]);
    const resource = this.resources.get(key);
    if (!resource) return failure(404);
    if (req.method === 'DELETE') this.resources.delete(key);
    return { status: 200, body: resource };
  }

  #create(namespace: string, { metadata, spec }: InstanceResource): { status: number; body: unknown } {
    this.#runBeforeWrite();
    const key = `${namespace}/${metadata.name}`;
    if (this.resources.has(key)) return failure(409);
    return { status: 201, body: this.#put(key, spec, metadata.labels) };
  }

  #change(key: string, [version, spec]: { value: unknown }[]): { status: number; body: unknown } {
    this.#runBeforeWrite();
    const present = this.resources.get(key);
    if (!present) return failure(404);
    if (version!.value !== present.metadata.resourceVersion) return failure(409);
    return { status: 200, body: this.#put(key, spec!.value as InstanceResource['spec'], undefined) };
  }

  #runBeforeWrite(): void {
    this.beforeWrite?.();
    this.beforeWrite = null;
  }

  #put(
    key: string,
    spec: Partial<InstanceResource['spec']>,
    labels: Record<string, string> | undefined,
  ): InstanceResource {
    const before = this.resources.get(key);
    const merged = { suspended: false, ...before?.spec, ...spec } as InstanceResource['spec'];
    const changed = JSON.stringify(before?.spec) !== JSON.stringify(merged);
    const metadata = before?.metadata ?? newMetadata(key);
    const resource: InstanceResource = {
      apiVersion: MANIFEST_API_VERSION,
      kind: 'Instance',
      metadata: {
        ...metadata,
        generation: metadata.generation + (changed ? 1 : 0),
        resourceVersion: changed ? String(++this.#version) : metadata.resourceVersion,
        ...(labels && { labels }),
      },
      spec: merged,
    };
    this.resources.set(key, resource);
    return resource;
  }
}

function newMetadata(key: string): InstanceResource['metadata'] {
  const [namespace = '', name = ''] = key.split('/');
  const creationTimestamp = new Date().toISOString();
  return { namespace, name, uid: randomUUID(), generation: 0, resourceVersion: '', creationTimestamp };
}

const failure = (code: number) => ({ status: code, body: { kind: 'Status', code } });
