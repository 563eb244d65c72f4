import type { OpenApiDocument } from '@gwk/api/openapi/document';
import { MAX_JSON_BODY_BYTES } from '@gwk/core/resources/common';
import { SEND_EXAMPLES } from '@gwk/core/resources/send-examples';
import {
  describedOperations,
  listParameters,
  pathWith,
  withIds,
  type DescribedOperation,
  type Ids,
} from '../support/hostile/described-operations.js';
import { HOSTILE_TEXTS } from '../support/hostile-texts.js';
import type { HostileRequest } from '../support/hostile/hostile-requests.js';
import { placesOf, put, valueAt } from '../support/hostile/json-places.js';

/** Characters of a value in a request line or a header. The gateway accepts 16 kB of headers. */
const HEADER_LENGTH = 15_000;
/** Room for the rest of the body. */
const VALUE_BYTES = MAX_JSON_BODY_BYTES - 5_000;

const JSON_HEADERS = { 'content-type': 'application/json' };

/** Requests of the largest sizes to every operation, built to take time that grows faster than their size. */
export function largestRequests(document: OpenApiDocument, ids: Ids): HostileRequest[] {
  const operations = describedOperations(document).filter(({ spared }) => !spared);
  const seen = new Set<string>();
  return operations.flatMap((operation) => [
    ...inUrl(operation, ids),
    ...inHeaders(operation, ids),
    ...[...(operation.bodies ?? []), ...(MORE_BODIES[operation.name] ?? [])].flatMap((body) =>
      inBody(operation, withIds(body, ids), { ids, seen }),
    ),
    ...(operation.takesForm ? forms(operation, ids) : []),
  ]);
}

/** Bodies with the fields that the examples of the operations leave out. */
const MORE_BODIES: Record<string, unknown[]> = {
  sendMessage: [
    { ...SEND_EXAMPLES[0], text: { body: 'x', preview_url: true, mentions: ['5511987654321'] } },
    { ...SEND_EXAMPLES[0], reply_to: 'x', scheduled_for: 'x' },
    {
      ...SEND_EXAMPLES[3],
      document: { media: { url: 'https://example.org/', filename: 'f', mimetype: 'a/b' } },
    },
    { ...SEND_EXAMPLES[7], contact: { name: 'x', phones: ['+551140028922'], organization: 'x' } },
    {
      ...SEND_EXAMPLES[8],
      interactive: {
        body: 'x',
        footer: 'x',
        list: { button: 'x', sections: [{ title: 'x', rows: [{ id: 'x', title: 'x', description: 'x' }] }] },
      },
    },
    {
      ...SEND_EXAMPLES[8],
      interactive: {
        body: 'x',
        buttons: [
          { type: 'url', label: 'x', url: 'https://example.org/' },
          { type: 'copy', label: 'y', code: 'x' },
          { type: 'call', label: 'z', phone: '+551140028922' },
        ],
      },
    },
  ],
  updateInstance: [
    {
      name: 'x',
      policy: {
        active_hours: { start: 'x', end: 'x', timezone: 'x' },
        opt_out: { keywords: ['x'], resume_keywords: ['y'] },
      },
    },
  ],
  simulateInbound: [
    {
      from: '5511987654321',
      text: 'x',
      reply: { option_id: 'x', label: 'x', source: 'button', in_reply_to_wa_message_id: 'x' },
      quoted_wa_message_id: 'x',
    },
  ],
};

const SHORT = [
  '1'.repeat(HEADER_LENGTH),
  ','.repeat(HEADER_LENGTH),
  '%CC%81%CC%96'.repeat(HEADER_LENGTH / 12),
];

function inUrl(operation: DescribedOperation, ids: Ids): HostileRequest[] {
  const path = pathWith(operation, ids);
  const [body] = operation.bodies ?? [];
  const parameters = listParameters(operation).flatMap((name) =>
    SHORT.map((text) => request(operation, pathWith(operation, { ...ids, [name]: text }), body)),
  );
  const queries = [
    ...operation.query.flatMap((name) => SHORT.map((text) => `${name}=${text}`)),
    'a&'.repeat(HEADER_LENGTH / 2),
    'limit=1&'.repeat(HEADER_LENGTH / 8),
  ];
  return [...parameters, ...queries.map((query) => request(operation, `${path}?${query}`, body))];
}

const HEADERS = ['idempotency-key', 'if-match', 'x-request-id', 'content-type', 'range', 'x-forwarded-for'];

function inHeaders(operation: DescribedOperation, ids: Ids): HostileRequest[] {
  const [body] = operation.bodies ?? [];
  const path = pathWith(operation, ids);
  const texts = [
    'x'.repeat(HEADER_LENGTH),
    '"1", '.repeat(HEADER_LENGTH / 5),
    ' \t'.repeat(HEADER_LENGTH / 2) + 'x',
  ];
  return HEADERS.flatMap((name) =>
    texts.map((text) => {
      const plain = request(operation, path, body);
      return { ...plain, headers: { ...plain.headers, [name]: text } };
    }),
  );
}

/** Each field of an example with each large value. A name that several examples or places have is tried once. */
function inBody(
  operation: DescribedOperation,
  body: unknown,
  { ids, seen }: { ids: Ids; seen: Set<string> },
): HostileRequest[] {
  const path = pathWith(operation, ids);
  const made: HostileRequest[] = [];
  for (const place of placesOf(body)) {
    const name = `${operation.name} ${place.findLast((part) => !/^\d+$/.test(part)) ?? ''}`;
    if (seen.has(name)) continue;
    seen.add(name);
    const values = typeof valueAt(body, place) === 'string' ? TEXTS : SHAPES;
    for (const value of values) {
      const text = JSON.stringify(put(body, place, '\u0001')).replace('"\\u0001"', () => value);
      made.push({
        operation: operation.name,
        method: operation.method,
        path,
        headers: JSON_HEADERS,
        body: text,
      });
    }
  }
  return made;
}

const fill = (unit: (index: number) => string, open: string, close: string): string => {
  const units: string[] = [];
  for (let size = 0; size < VALUE_BYTES; size += units.at(-1)!.length + 1) units.push(unit(units.length));
  units.pop();
  return `${open}${units.join(',')}${close}`;
};

/** JSON values with as many parts as a body can have. */
const SHAPES = [
  fill((index) => `"${index.toString(36)}":1`, '{', '}'),
  fill((index) => `{"${index.toString(36)}":1}`, '[', ']'),
  fill(() => '{}', '[', ']'),
  fill(() => '"a"', '[', ']'),
  fill(() => `${'['.repeat(150)}${']'.repeat(150)}`, '[', ']'),
  `[${'9'.repeat(VALUE_BYTES)}]`,
];

const distinct = (count: number): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, index) => 0x4e00 + index));

/** Each hostile text at the length of a message, and texts at the size of a body. */
const TEXTS = [
  ...HOSTILE_TEXTS.map(([, text]) => text),
  `a${'\u0301'.repeat(200_000)}${'\u0316'.repeat(200_000)}`,
  `${'.'.repeat(VALUE_BYTES - 10)}x`,
  `+${'1'.repeat(VALUE_BYTES - 10)}`,
  `https://${distinct(20_000)}.example.org/`,
  `https://example.org/${'../'.repeat(300_000)}`,
  `https://${'a.'.repeat(400_000)}org/`,
].map((text) => JSON.stringify(text));

function forms(operation: DescribedOperation, ids: Ids): HostileRequest[] {
  const path = pathWith(operation, ids);
  const part = (name: string, content: string): string =>
    `--x\r\nContent-Disposition: form-data; ${name}\r\n\r\n${content}\r\n`;
  const bodies = [
    part(`name="file"; filename="${'a/'.repeat(7_000)}"`, 'x'),
    part(`name="file"; filename="${'\\"'.repeat(7_000)}"`, 'x'),
    part(`name="file"; filename*=UTF-8''${'%CC%81%CC%96'.repeat(1_000)}`, 'x'),
    part(`name="filename"`, '\u0301'.repeat(4_000) + '\u0316'.repeat(4_000)) +
      part('name="file"; filename="f"', 'x'),
    part('name="a"', 'x').repeat(15_000),
    part('name="file"; filename="f"', '\r\n--'.repeat(200_000)),
    `--x\r\n${'A: b\r\n'.repeat(100_000)}\r\n`,
    '\r\n'.repeat(400_000),
  ];
  return bodies.map((body) => ({
    operation: operation.name,
    method: operation.method,
    path,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: `${body}--x--\r\n`,
  }));
}

function request(operation: DescribedOperation, path: string, body: unknown): HostileRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = text === undefined ? {} : JSON_HEADERS;
  return { operation: operation.name, method: operation.method, path, headers, body: text };
}
