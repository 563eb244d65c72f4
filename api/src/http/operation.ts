import type { IncomingMessage } from 'node:http';
import type { ProblemCode } from '@gwk/core/problems';
import type { Scope } from '@gwk/core/scopes';
import type { z } from 'zod';
import type { Caller } from '../accounts/caller.js';
import type { Answer } from './respond.js';
import type { Services } from './services.js';

/**
 * One row of the table of operations: routes, `Allow`, the interface description and tests are made from it.
 */
export interface Operation {
  /** Unique, in camel case. */
  name: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/v1/instances/{instance_id}`; a parameter ending in `_id` is an id of the resource it names. */
  path: string;
  summary: string;
  /** What the summary cannot hold, in Markdown. */
  description?: string;
  /** Null: public, no key. */
  scope: Scope | null;
  /** Another scope that does as well. */
  orScope?: Scope;
  /** The status of success. */
  status: number;
  /** Further statuses of success, with what each means. */
  otherStatuses?: Readonly<Record<number, string>>;
  /** The problems that it can answer beyond those that its other fields imply (openapi/problems.ts). */
  problems: readonly ProblemCode[];
  query?: z.ZodType;
  body?: z.ZodType;
  /** The handler judges the body by its schema itself. */
  bodyAsGiven?: boolean;
  /** JSON where absent. */
  bodyType?: 'multipart/form-data';
  /** Takes the body as it comes, in place of JSON: for what is too large to be held. */
  receive?: Receiver;
  /** The body may be absent. */
  bodyOptional?: boolean;
  /** The answer's body. */
  result?: z.ZodType;
  /** JSON where absent. Of a stream, `result` is the data of one of its events. */
  resultType?: 'text/event-stream';
  /** Answers with an `ETag`. */
  etag?: boolean;
  /** Heeds `If-Match`. */
  ifMatch?: boolean;
  /** How long it may work, where that is longer than others may: it waits for an engine, with a deadline. */
  patienceMs?: number;
  /** Not for keys that are restricted to some instances (403 `forbidden`). */
  unrestricted?: boolean;
  /** Heeds `Idempotency-Key` through the generic marks. */
  idempotent: boolean;
  /** Whether a kept answer may be shown to this caller, beyond its scope and its instance; a problem refuses as it says. */
  mayReplay?: (caller: Caller, body: unknown, call: Call) => boolean | Promise<boolean>;
  handle(call: Call<never, never>): Promise<Answer> | Answer;
}

/** What it received is the call's `received`; the handler's `body` is its `identity`. */
export interface Receiver {
  /** @throws Problem */
  read(req: IncomingMessage, services: Services): Promise<unknown>;
  /** What two requests share that are the same: what `Idempotency-Key` compares. */
  identity(received: never): unknown;
  /** After the answer, whatever it was: lets go of what nothing has come to keep. */
  release(received: never, services: Services): Promise<void>;
}

/** What a handler is given: judged input, and what it may use. */
export interface Call<Q = unknown, B = unknown> {
  caller: Caller;
  /** UUIDs for ids, text for the rest. */
  params: Readonly<Record<string, string>>;
  query: Q;
  body: B;
  /** Of operations that take their body as it comes. */
  received: unknown;
  ifMatch: string | undefined;
  idempotencyKey: string | undefined;
  /** What spans of its work go on from; null where no trace is kept. */
  traceparent: string | null;
  requestId: string;
  /** Of idempotent operations: the id to create under. A repeat of a request that died finds what it made. */
  resourceId: string;
  /** An earlier request with the same key may have made `resourceId`. */
  resumed: boolean;
  /** Ids for the access log. */
  note: (subject: string) => void;
  services: Services;
}

type OutputOf<S> = S extends z.ZodType ? z.output<S> : undefined;

interface Definition<Q, B> extends Omit<Operation, 'handle' | 'query' | 'body' | 'idempotent' | 'problems'> {
  query?: Q;
  body?: B;
  idempotent?: boolean;
  problems?: readonly ProblemCode[];
  handle(call: Call<OutputOf<Q>, OutputOf<B>>): Promise<Answer> | Answer;
}

export function operation<
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(definition: Definition<Q, B>): Operation {
  return { idempotent: false, problems: [], ...definition };
}

/** `/v1/instances/:instance_id` for the router. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
