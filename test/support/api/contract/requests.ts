import type { Operation } from '@gwk/api/http/operation';
import type { OpenApiDocument } from '@gwk/api/openapi/document';

/** Request to an operation, built from its examples. For tests that iterate over all operations. */
export interface SampleRequest {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

const BOUNDARY = 'sample';
const FORM = [
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="file"; filename="a.txt"',
  'Content-Type: text/plain',
  '',
  'sample',
  `--${BOUNDARY}--`,
  '',
].join('\r\n');

/** @param ids values of the path parameters */
export function buildSample(
  operation: Operation,
  document: OpenApiDocument,
  ids: Readonly<Record<string, string>>,
): SampleRequest {
  const { method, path } = operation;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!);
  if (!operation.body) return { method, path: filled };
  if (operation.receive) {
    const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    return { method, path: filled, body: FORM, headers };
  }
  return { method, path: filled, body: listBodies(operation, document)[0] };
}

interface JsonBody {
  requestBody: {
    content: {
      'application/json': { example?: unknown; examples?: Record<string, { value: unknown }> };
    };
  };
}

/** Lists the example bodies of an operation. */
export function listBodies({ method, path }: Operation, document: OpenApiDocument): unknown[] {
  const described = document.paths[path]![method.toLowerCase()] as unknown as JsonBody;
  const { example, examples } = described.requestBody.content['application/json'];
  return structuredClone(examples ? Object.values(examples).map(({ value }) => value) : [example]);
}

/** Well-formed ids that name nothing, for every path parameter. */
export const ABSENT_IDS: Readonly<Record<string, string>> = {
  instance_id: `ins_${'0'.repeat(32)}`,
  message_id: `msg_${'0'.repeat(32)}`,
  conversation_id: `cnv_${'0'.repeat(32)}`,
  media_id: `med_${'0'.repeat(32)}`,
  event_id: `evt_${'0'.repeat(32)}`,
  endpoint_id: `whe_${'0'.repeat(32)}`,
  delivery_id: `whd_${'0'.repeat(32)}`,
  phone: '5511900000000',
  chat: '5511900000000',
  group: '120363000000000000@g.us',
};
