import type { components, paths } from './generated/api.js';
import type { OPERATIONS } from './generated/operations.js';
import type { StreamEvent } from './server-sent-events.js';
import type { Upload } from './upload.js';

/** All schemas of the OpenAPI document by name. */
export type Schemas = components['schemas'];

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, its retries and its iteration. */
  signal?: AbortSignal;
  /** Default: a new one for each call. Choose an own one to repeat a request after a crash. */
  idempotencyKey?: string;
  /** `ETag` of the version to change. Another version answers `precondition-failed`. */
  ifMatch?: string;
  /** Used in place of a generated id. */
  requestId?: string;
  /** Milliseconds for each attempt. Default: that of the client; uploads have none. */
  timeout?: number;
  /** Attempts after the first one. Default: that of the client. */
  retries?: number;
}

/** A page of results; `next_cursor` is null at the end. */
interface PageOf<Item> {
  data: Item[];
  next_cursor?: string | null;
}

/** Await it for the first page, or iterate over all items of all pages. */
export type Pages<Page> = Promise<Page> & AsyncIterable<Page extends PageOf<infer Item> ? Item : never>;

type Table = typeof OPERATIONS;
export type Row = readonly [
  method: string,
  path: string,
  input: 'body' | 'form' | 'query' | 'none',
  answer: 'one' | 'page' | 'stream',
];

type Described<R extends Row> = R[1] extends keyof paths
  ? Lowercase<R[0]> extends keyof paths[R[1]]
    ? paths[R[1]][Lowercase<R[0]>]
    : never
  : never;

type PathArguments<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? [id: string, ...PathArguments<Rest>]
  : [];

type Body<D> = D extends { requestBody: { content: { 'application/json': infer B } } }
  ? [input: B]
  : D extends { requestBody?: { content: { 'application/json': infer B } } }
    ? [input?: B]
    : never;
type Query<D> = D extends { parameters: { query: infer Q } }
  ? [query: Q]
  : D extends { parameters: { query?: infer Q } }
    ? [query?: Q]
    : never;
type Input<R extends Row> = R[2] extends 'none'
  ? []
  : R[2] extends 'form'
    ? [upload: Upload]
    : R[2] extends 'body'
      ? Body<Described<R>>
      : Query<Described<R>>;

type Json<A> = A extends { content: { 'application/json': infer B } } ? B : undefined;
type Success<D> = D extends { responses: infer A }
  ? { [Status in keyof A]: Status extends 200 | 201 | 202 | 204 ? Json<A[Status]> : never }[keyof A]
  : never;
type Result<R extends Row> = R[3] extends 'stream'
  ? AsyncGenerator<StreamEvent>
  : R[3] extends 'page'
    ? Pages<Success<Described<R>>>
    : Promise<Success<Described<R>>>;

/** The method of one operation: the parts of its path, its body or query, and options. */
export type Method<R extends Row> = (
  ...args: [...PathArguments<R[1]>, ...Input<R>, options?: CallOptions]
) => Result<R>;

/** Every operation of the document. */
export type Operations = {
  readonly [Group in keyof Table]: {
    readonly [Name in keyof Table[Group]]: Table[Group][Name] extends Row
      ? Method<Table[Group][Name]>
      : never;
  };
};
