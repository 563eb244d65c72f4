import {
  ResourceConflict,
  ResourceInvalid,
  type NewResource,
  CONFLICT_STATUS,
  DESIRED_STATE_PATH,
  INVALID_STATUS,
  type DesiredStateOperation,
} from '@gwk/core/desired-state/desired-state';
import { InstanceResource } from '@gwk/core/resources/manifest';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { InstanceStore } from '../cluster/local/instance-store.js';
import { parse } from '../cluster/local/validate.js';
import { sendJson, type Exchange, type Handler } from './server.js';

const MAX_BODY_BYTES = 1_000_000;
const WRONG_TOKEN =
  'the bearer token is missing or differs from the GWK_OPERATOR_LOCAL_TOKEN of the operator';

interface Access {
  token: string | undefined;
  /** While resources are loading, a list would look empty. */
  isLoaded: () => boolean;
}

const Place = z.strictObject({ namespace: z.string(), name: z.string() });
const ListRequest = z.strictObject({ namespace: z.string().nullable() });

type Operations = Record<DesiredStateOperation, (body: unknown) => unknown>;

function buildOperations(store: InstanceStore): Operations {
  return {
    list: (body) => store.list(parse(ListRequest, body).namespace),
    get: (body) => store.details(parse(Place, body)),
    create: (body) => store.create(body as NewResource),
    change: (body) => store.change(parse(InstanceResource, body)),
    delete: async (body) => {
      await store.delete(parse(Place, body));
      return {};
    },
  };
}

/** Serves the desired state to the API and `gwk` on this machine. */
export function createDesiredStateHandler(store: InstanceStore, { token, isLoaded }: Access): Handler {
  const operations = new Map(Object.entries(buildOperations(store)));
  return async (exchange) => {
    const { path, request } = exchange;
    if (!path.startsWith(DESIRED_STATE_PATH)) return false;
    const operation = operations.get(path.slice(DESIRED_STATE_PATH.length));
    if (request.method !== 'POST' || !operation) return false;
    if (!isAuthorized(request, token)) refuse(exchange, 401, WRONG_TOKEN);
    else if (!isLoaded()) refuse(exchange, 503, 'the operator is starting');
    else await answer(exchange, operation);
    return true;
  };
}

const refuse = (exchange: Exchange, status: number, error: string): void =>
  sendJson(exchange, status, { error });

async function answer(exchange: Exchange, operation: (body: unknown) => unknown): Promise<void> {
  try {
    sendJson(exchange, 200, await operation(await readBody(exchange.request)));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof ResourceConflict) refuse(exchange, CONFLICT_STATUS, message);
    else if (error instanceof ResourceInvalid) refuse(exchange, INVALID_STATUS, message);
    else throw error;
  }
}

function isAuthorized({ headers }: IncomingMessage, token: string | undefined): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const given = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  return token !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** @throws ResourceInvalid */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ResourceInvalid(`the body exceeds ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    throw new ResourceInvalid('the body is not JSON');
  }
}
