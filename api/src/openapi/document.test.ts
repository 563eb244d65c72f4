import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { OPERATIONS } from '../public-api/operations.js';
import { closed } from '@gwk/test/support/api/contract/closed';
import { openApiDocument } from './document.js';
import { heedsIdempotencyKey } from './describe.js';
import type { JsonSchema } from './schema-book.js';

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://api.example.org',
  docsUrl: 'https://docs.example.org',
});

interface Media {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { $ref?: string; value?: unknown }>;
}

interface MediaUse {
  at: string;
  type: string;
  media: Media;
}

/** Lists every media type in the request and answers of an operation. */
function listMedia(operation: unknown): MediaUse[] {
  const { requestBody, responses } = operation as {
    requestBody?: { content: Record<string, Media> };
    responses: Record<string, { content?: Record<string, Media> }>;
  };
  return [
    ['request', requestBody?.content] as const,
    ...Object.entries(responses).map(([status, { content }]) => [status, content] as const),
  ].flatMap(([at, content]) => Object.entries(content ?? {}).map(([type, media]) => ({ at, type, media })));
}

const described = Object.values(document.paths).flatMap((item) =>
  Object.values(item).map((operation): [string, MediaUse[]] => [
    String(operation['operationId']),
    listMedia(operation),
  ]),
);

function listExamples({ example, examples }: Media): unknown[] {
  if (!examples) return [example];
  return Object.values(examples).map(({ $ref, value }) =>
    $ref === undefined ? value : document.components['examples']![$ref.split('/').at(-1)!]!['value'],
  );
}

function validator(schema: JsonSchema) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('binary', true);
  ajv.addSchema({ $id: 'document', components: { schemas: closed(document.components['schemas']) } });
  const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"document#/components/');
  const validate = ajv.compile(JSON.parse(text) as JsonSchema);
  return (value: unknown) => (validate(value) ? null : ajv.errorsText(validate.errors));
}

/** A schema that loses its `export` would become anonymous, and generated clients would lose its type. */
const SCHEMAS = [
  'AcceptedMessageOut',
  'AlbumFile',
  'AudioContent',
  'AvailabilityOut',
  'BannedData',
  'Button',
  'CallReceivedData',
  'CaptionedContent',
  'ConnectedData',
  'ContactCheckOut',
  'ContactContent',
  'ContactUpdatedData',
  'DeletedData',
  'DeliveryOut',
  'DeviceStatusOut',
  'EditedData',
  'EndedData',
  'EventChat',
  'EventOut',
  'EventPerson',
  'FailedData',
  'FieldErrorOut',
  'GroupUpdatedData',
  'HealthFactorOut',
  'HealthOut',
  'ImageContent',
  'InstanceCreate',
  'InstanceOut',
  'InstanceUpdate',
  'InteractiveContent',
  'InteractiveReplyData',
  'InteractiveStatusOut',
  'ListContent',
  'LiveStatus',
  'LocationContent',
  'MediaInput',
  'MediaOut',
  'MediaUpload',
  'MenuReply',
  'MessageEdit',
  'MessageError',
  'MessageOut',
  'MonitorStatus',
  'OptOutCreate',
  'OptOutData',
  'OptOutOut',
  'PairedData',
  'PairingFailedData',
  'PairingOut',
  'PairingPasskey',
  'PairingQr',
  'PasskeyAnswer',
  'PasskeyOptions',
  'PasskeyRequestedData',
  'PolicyOut',
  'PollContent',
  'PresenceUpdate',
  'ProblemOut',
  'QrData',
  'Reaction',
  'ReactionData',
  'ReadMarks',
  'ReceivedContact',
  'ReceivedData',
  'ReceivedLocation',
  'Referral',
  'RetryFailed',
  'RetryFailedOut',
  'SandboxInbound',
  'SandboxInboundOut',
  'SecretRotationOut',
  'SendMessage',
  'SentData',
  'StatusUpdatedData',
  'StickerContent',
  'TextContent',
  'VideoContent',
  'WebhookEndpointCreate',
  'WebhookEndpointOut',
  'WebhookEndpointUpdate',
  'WebhookTestData',
];

describe('the OpenAPI document', () => {
  test('has every operation of the table once', () => {
    expect(described.map(([name]) => name).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
  });

  test('names the schemas that generated clients use', () => {
    expect(Object.keys(document.components['schemas']!).sort()).toEqual(SCHEMAS);
  });

  test.each(described)('the examples of %s are valid', (_name, uses) => {
    for (const { at, type, media } of uses) {
      if (media.schema['type'] === 'string') continue; // a stream
      const validate = validator(media.schema);
      for (const value of listExamples(media)) expect([at, type, validate(value)]).toEqual([at, type, null]);
    }
  });

  test.each(OPERATIONS.filter(heedsIdempotencyKey))(
    '$name supports Idempotency-Key',
    ({ name, idempotent }) => {
      // Messages have their own implementation.
      expect(idempotent || name === 'sendMessage').toBe(true);
    },
  );

  test.each(OPERATIONS)('$name has a body unless its status is 204', ({ status, result }) => {
    expect(status === 204).toBe(result === undefined);
  });
});
