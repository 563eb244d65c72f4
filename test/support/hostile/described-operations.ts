import type { OpenApiDocument } from '@gwk/api/openapi/document';
import type { JsonSchema } from '@gwk/api/openapi/schema-book';

/** Operation from the OpenAPI document, from which hostile requests are built. */
export interface DescribedOperation {
  name: string;
  method: string;
  path: string;
  /** Names of the query parameters. */
  query: string[];
  /** Example bodies; null if the operation takes no JSON body. */
  bodies: unknown[] | null;
  /** Whether the operation takes a form with a file. */
  takesForm: boolean;
  /** Gets only ids that do not exist, because it deletes resources that other requests use, or streams without end. */
  spared: boolean;
}

/** Values of path parameters by name. */
export type Ids = Readonly<Record<string, string>>;

interface Described {
  operationId: string;
  parameters: { name?: string; in?: string; schema: JsonSchema; $ref?: string }[];
  requestBody?: {
    content: Record<string, { example?: unknown; examples?: Record<string, { value: unknown }> }>;
  };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

export function describedOperations(document: OpenApiDocument): DescribedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      read(method.toUpperCase(), path, operation as unknown as Described),
    ),
  );
}

function read(method: string, path: string, described: Described): DescribedOperation {
  const { operationId, parameters, requestBody, responses } = described;
  const json = requestBody?.content['application/json'];
  const isEndless = Object.values(responses).some(
    ({ content }) => content !== undefined && 'text/event-stream' in content,
  );
  return {
    name: operationId,
    method,
    path,
    query: parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name!] : [])),
    bodies: json ? bodiesOf(json) : null,
    takesForm: requestBody !== undefined && json === undefined,
    spared: method === 'DELETE' || path.endsWith('/logout') || isEndless,
  };
}

function bodiesOf(json: { example?: unknown; examples?: Record<string, { value: unknown }> }): unknown[] {
  return json.examples ? Object.values(json.examples).map((example) => example.value) : [json.example];
}

export function listParameters({ path }: DescribedOperation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
}

/** The path with its parameters filled in. */
export function pathWith(operation: DescribedOperation, values: Ids): string {
  return listParameters(operation).reduce(
    (at, name) => at.replace(`{${name}}`, () => values[name]!),
    operation.path,
  );
}

/** A well-formed id that names nothing. */
export function absent(name: string, ids: Ids): string {
  return `${ids[name]!.slice(0, 4)}${'0'.repeat(32)}`;
}

/** An example body with ids of existing resources. */
export function withIds(example: unknown, ids: Ids): unknown {
  const json = JSON.stringify(example, (name, part: unknown) => {
    const id = name === 'reply_to' ? ids['message_id'] : ids[name];
    return id === undefined || typeof part !== 'string' ? part : id;
  });
  return JSON.parse(json) as unknown;
}
