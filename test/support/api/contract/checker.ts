import type { IncomingHttpHeaders } from 'node:http';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '@gwk/api/openapi/document';
import type { JsonSchema } from '@gwk/api/openapi/schema-book';
import { closed } from './closed.js';
import { readResponses } from './responses.js';
import type { SeenAnswer } from './seen-answers.js';

/** One request and response, as a client saw it. */
export interface Seen {
  method: string;
  /** Path as requested, with its query. */
  path: string;
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** By a session, which the document of the HTTP interface does not describe. */
  bySession?: boolean;
}

interface Described {
  name: string;
  matches: RegExp;
  operation: JsonSchema & { responses: Record<string, ResponseObject>; operationId: string };
}

interface ResponseObject {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, { schema?: JsonSchema; examples?: Record<string, unknown> }>;
}

interface HeaderObject {
  required?: boolean;
  schema: JsonSchema;
}

/** Problem codes that every path can answer, even without an operation (document.ts: description). */
const ANYWHERE = new Set(['rate-limited', 'internal-error']);
const V1 = '/v1/';
/** Problem codes of requests by session to the operations of the HTTP interface. */
const BY_SESSION = new Set([
  'unauthorized',
  'forbidden',
  'no-account',
  'mfa-not-verified',
  'csrf-failed',
  'origin-not-allowed',
]);
const WAITS: ReadonlySet<number> = new Set([429, 503]);
const PROBLEM_TYPE = 'application/problem+json';

/**
 * Checks responses against the OpenAPI document: operation, status, problem code, headers, media type, body. A response
 * or a field that the document does not describe is an error.
 */
export class ContractChecker {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: true });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #operations: Described[] = [];

  /** @param prefix of the paths of the document */
  constructor(
    readonly document: OpenApiDocument,
    readonly prefix = V1,
  ) {
    addFormats.default(this.#ajv);
    const schemas = closed(document.components['schemas']);
    this.#ajv.addSchema({ $id: 'document', components: { schemas } });
    for (const [path, item] of Object.entries(document.paths)) {
      const matches = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      for (const [method, operation] of Object.entries(item)) {
        const described = operation as Described['operation'];
        this.#operations.push({ name: `${method.toUpperCase()} ${path}`, matches, operation: described });
      }
    }
  }

  /**
   * @returns the answer to record; null if no operation matches
   * @throws Error that names the undescribed part
   */
  check(seen: Seen): SeenAnswer | null {
    const path = seen.path.split('?')[0]!;
    const method = seen.method === 'HEAD' ? 'GET' : seen.method;
    const there = this.#operations.filter(({ matches }) => matches.test(path));
    const found = there.find(({ name }) => name.startsWith(`${method} `));
    const isProblem = mediaType(seen) === PROBLEM_TYPE;
    if (isProblem && seen.method !== 'HEAD') this.#checkProblem(seen);
    if (this.prefix === V1 && seen.bySession && isProblem && BY_SESSION.has(codeOf(seen))) return null;
    if (found && !isNoRequest(seen)) return this.#checkOperation(found, seen);
    if (path.startsWith(this.prefix)) checkNowhere(seen, there.length > 0);
    return null;
  }

  #checkOperation({ name, operation }: Described, seen: Seen): SeenAnswer {
    const { operationId } = operation;
    const response = readResponses(this.document, operation)[String(seen.status)];
    if (!response) throw undescribed(name, seen, `status ${seen.status}`);
    this.#checkHeaders(name, response, seen);
    if (seen.method === 'HEAD') return { operation: operationId, status: seen.status, code: null };
    const [type, content] = Object.entries(response.content ?? {})[0] ?? [];
    if (content === undefined) {
      if (seen.text !== '') throw undescribed(name, seen, 'a body');
      return { operation: operationId, status: seen.status, code: null };
    }
    if (mediaType(seen) !== type) throw undescribed(name, seen, `media type ${mediaType(seen)}`);
    if (type === PROBLEM_TYPE) {
      const code = codeOf(seen);
      if (!content.examples || !(code in content.examples)) throw undescribed(name, seen, `problem ${code}`);
      return { operation: operationId, status: seen.status, code };
    }
    if (type === 'application/json') {
      this.#checkBody(`${name} ${seen.status}`, content.schema!, seen);
    }
    return { operation: operationId, status: seen.status, code: null };
  }

  #checkProblem(seen: Seen): void {
    this.#checkBody('a problem', { $ref: '#/components/schemas/ProblemOut' }, seen);
    const body = JSON.parse(seen.text) as { status: number; request_id: string };
    if (body.status !== seen.status)
      throw undescribed('a problem', seen, `status ${body.status} in its body`);
    if (body.request_id !== seen.headers['x-request-id']) {
      throw undescribed('a problem', seen, 'a request_id other than X-Request-ID');
    }
  }

  #checkHeaders(name: string, response: ResponseObject, seen: Seen): void {
    for (const header of Object.keys(response.headers ?? {})) {
      const definition = this.document.components['headers']![header] as unknown as HeaderObject;
      const value = seen.headers[header.toLowerCase()];
      if (value === undefined) {
        if (definition.required && !isKept(header, seen)) throw undescribed(name, seen, `no ${header}`);
        continue;
      }
      const typed = definition.schema['type'] === 'integer' ? Number(value) : value;
      if (!this.#validator(`header ${header}`, definition.schema)(typed)) {
        throw undescribed(name, seen, `${header}: ${String(value)}`);
      }
    }
    if (WAITS.has(seen.status) && !('retry-after' in seen.headers)) {
      throw undescribed(name, seen, 'no Retry-After');
    }
  }

  #checkBody(name: string, schema: JsonSchema, seen: Seen): void {
    const validate = this.#validator(name, schema);
    if (!validate(JSON.parse(seen.text))) {
      throw undescribed(name, seen, this.#ajv.errorsText(validate.errors, { dataVar: 'body' }));
    }
  }

  #validator(name: string, schema: JsonSchema): ValidateFunction {
    let validator = this.#validators.get(name);
    if (!validator) {
      const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"document#/components/');
      validator = this.#ajv.compile(JSON.parse(text) as JsonSchema);
      this.#validators.set(name, validator);
    }
    return validator;
  }
}

/** A replayed response has no version. */
const isKept = (header: string, { headers }: Seen): boolean =>
  header === 'ETag' && 'idempotent-replayed' in headers;

function mediaType({ headers }: Seen): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim();
}

function codeOf({ text }: Seen): string {
  return (JSON.parse(text) as { type: string }).type.split('/').at(-1)!;
}

/** Node rejected the request before it parsed a path, so the response belongs to no path. */
function isNoRequest(seen: Seen): boolean {
  if (mediaType(seen) !== PROBLEM_TYPE || seen.method === 'HEAD') return false;
  return (JSON.parse(seen.text) as { instance: string }).instance === '';
}

/** Handles a path that the document lacks, or a method that the path lacks. */
function checkNowhere(seen: Seen, hasPath: boolean): void {
  if (seen.method === 'HEAD' || isNoRequest(seen)) return;
  const name = `${seen.method} ${seen.path}`;
  if (mediaType(seen) !== PROBLEM_TYPE) throw undescribed(name, seen, 'an operation');
  const code = codeOf(seen);
  if (code !== (hasPath ? 'method-not-allowed' : 'not-found') && !ANYWHERE.has(code)) {
    throw undescribed(name, seen, `problem ${code}`);
  }
  if (seen.status === 405 && seen.headers['allow'] === undefined) throw undescribed(name, seen, 'no Allow');
}

function undescribed(name: string, seen: Seen, what: string): Error {
  return new Error(
    `the document does not describe ${what} of ${name}: ${seen.method} ${seen.path} -> ${seen.status} ${seen.text.slice(0, 300)}`,
  );
}
