import { pascalCase } from '@gwk/core/text/pascal-case';
import { WEBHOOKS, WebhookOut } from '../resources/event.js';
import { examplesOf } from './describe.js';
import type { JsonSchema, SchemaBook } from './schema-book.js';

/** Describes the requests that endpoints receive, one for each type of event. */
export function describeWebhooks(book: SchemaBook): Record<string, JsonSchema> {
  book.add(WebhookOut, 'output');
  return Object.fromEntries(
    WEBHOOKS.map((webhook) => {
      const type = webhook.shape.type.value;
      const schema = book.add(webhook, 'output');
      const post = {
        operationId: `on${pascalCase(type)}`,
        summary: `\`${type}\``,
        tags: ['webhooks'],
        security: [],
        parameters: HEADERS,
        requestBody: {
          required: true,
          content: { 'application/json': { schema, ...examplesOf(schema, book) } },
        },
        responses: RESPONSES,
      };
      return [type, { post }];
    }),
  );
}

const HEADERS: JsonSchema[] = [
  ['webhook-id', 'The id of the event, the same in every delivery of it.'],
  ['webhook-timestamp', 'Unix time in seconds of this attempt.'],
  [
    'webhook-signature',
    'Signatures by Standard Webhooks, `v1,<base64>`, one for each secret in force, separated by spaces.',
  ],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}));

const RESPONSES: JsonSchema = {
  '2XX': { description: 'Received. Any other answer, or none, is followed by another attempt.' },
  '4XX': { description: 'Refused. `410` disables the endpoint.' },
};
