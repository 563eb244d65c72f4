import type { IdKind } from '@gwk/core/ids/ids';
import type { ProblemCode } from '@gwk/core/problems/problems';
import type { Permission } from '../roles.js';
import type { Scope } from '@gwk/core/scopes';
import type { z } from 'zod';
import type { Caller } from '../accounts/caller.js';
import type { Session } from '../accounts/sessions.js';
import type { Exchange } from './exchange.js';
import type { Answer } from './respond.js';
import type { Services } from './services.js';

/**
 * One row of the table of operations. Routes, the `Allow` header, the OpenAPI document and tests derive from it.
 */
export interface Operation {
  /** Unique, in camel case. */
  name: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** For example `/v1/instances/{instance_id}`. A parameter that ends in `_id` is the id of the resource it names. */
  path: string;
  summary: string;
  /** Details, in Markdown. */
  description?: string;
  /** Required scope; null: public, without a key. */
  scope: Scope | null;
  /** An alternative scope. */
  orScope?: Scope;
  /**
   * For operations of the console, which accept sessions only: everybody, each signed-in person, administrators of the
   * platform, or the right that the person's role must include in the account. `portal`: a program with
   * GWK_API_CONSOLE_PLATFORM_TOKEN, without a session.
   */
  person?: 'anyone' | 'signed-in' | 'platform-admin' | 'portal' | Permission | Scope;
  /** HTTP status of success. */
  status: number;
  /** Other HTTP statuses of success and their meanings. */
  otherStatuses?: Readonly<Record<number, string>>;
  /** Problems in addition to those that the other fields imply (openapi/describe.ts). */
  problems?: readonly ProblemCode[];
  query?: z.ZodType;
  body?: z.ZodType;
  /** The handler validates the body itself. */
  bodyAsGiven?: boolean;
  /** Streams a form (multipart/form-data) instead of parsing JSON, for bodies too large for memory. */
  receive?: Receiver;
  /** The body may be absent. */
  bodyOptional?: boolean;
  /** Schema of the answer's body. */
  result?: z.ZodType;
  /** Media type of the answer (default: JSON). For a stream, `result` is the schema of the data of an event. */
  resultType?: 'text/event-stream' | 'text/csv';
  /** Answers with an `ETag`. */
  etag?: boolean;
  /** Supports `If-Match`. */
  ifMatch?: boolean;
  /** Time limit in milliseconds, for operations that wait for an engine longer than the default limit. */
  maxWorkMs?: number;
  /** Refuses keys and members that are restricted to some instances (403 `forbidden`). */
  unrestricted?: boolean;
  /** Supports `Idempotency-Key` (idempotency/handle-idempotently.ts). */
  idempotent?: boolean;
  /**
   * Whether the caller may see a stored answer; scope and instance are checked before.
   * @throws Problem a refusal
   */
  mayReplay?: (caller: Caller, body: unknown, call: Call) => boolean | Promise<boolean>;
  handle(call: Call<never, never>): Promise<Answer> | Answer;
}

/** Streams a body. The result of `read` is the call's `received`; the handler's `body` is its `identity`. */
export interface Receiver {
  /** @throws Problem */
  read(req: Exchange, services: Services): Promise<unknown>;
  /** Value that two equal requests share; `Idempotency-Key` compares it. */
  identity(received: never): unknown;
  /** Runs after every answer and releases what the handler did not keep. */
  release(received: never, services: Services): Promise<void>;
}

/** Arguments of a handler: validated input and the services. */
export interface Call<Q = unknown, B = unknown> {
  caller: Caller;
  /** Null: an API key, or a request without session to an operation for everybody. */
  session: Session | null;
  /** For operations of the console: cookie, address and device of the client. */
  exchange: Exchange;
  /** Path parameters: UUIDs for ids, text for the rest. */
  params: Readonly<Record<string, string>>;
  query: Q;
  body: B;
  /** Result of the operation's `receive`. */
  received: unknown;
  ifMatch: string | undefined;
  idempotencyKey: string | undefined;
  /** Parent of the spans of this work; null: not traced. */
  traceparent: string | null;
  requestId: string;
  /** Id of the resource to create (idempotent operations). A retry of an interrupted request has the same id. */
  resourceId: string;
  /** An earlier request with the same key may have created `resourceId`. */
  resumed: boolean;
  /** Sets the id for the access log. */
  note: (subject: string) => void;
  services: Services;
}

/** Returns the kind of id in a path parameter; undefined: the parameter is text. */
export function idKindOf(name: string): IdKind | undefined {
  if (name === 'key_id') return 'apiKey';
  return name.endsWith('_id') ? (name.slice(0, -'_id'.length) as IdKind) : undefined;
}

type OutputOf<S> = S extends z.ZodType ? z.output<S> : undefined;

interface Definition<Q, B> extends Omit<Operation, 'handle' | 'query' | 'body'> {
  query?: Q;
  body?: B;
  handle(call: Call<OutputOf<Q>, OutputOf<B>>): Promise<Answer> | Answer;
}

export function operation<
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(definition: Definition<Q, B>): Operation {
  return definition;
}
