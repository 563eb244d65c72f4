import { buildSample, listEventSchemas } from './sample.js';

test('builds a sample from a schema, also one that contains itself', () => {
  const document = {
    components: {
      schemas: {
        EventOut: { oneOf: [{ $ref: '#/components/schemas/Sent' }] },
        Sent: {
          properties: {
            type: { const: 'message.sent' },
            id: { type: 'string', examples: ['evt_1'] },
            at: { type: 'string', format: 'date-time' },
            left: { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 3 }] },
            list: { type: 'array', items: { $ref: '#/components/schemas/Loop' } },
          },
        },
        Loop: { properties: { again: { $ref: '#/components/schemas/Loop' } } },
      },
    },
  };
  const schemas = listEventSchemas(document);
  expect([...schemas.keys()]).toEqual(['message.sent']);
  const now = new Date('2026-11-21T14:30:00Z');
  expect(buildSample(document, schemas.get('message.sent')!, now)).toMatchObject({
    type: 'message.sent',
    id: 'evt_1',
    at: '2026-11-21T14:30:00.000Z',
    left: 3,
    list: [{ again: { again: {} } }],
  });
});
