import { ApiError, ConnectionError } from '@gwk/client';
import { CliError } from '../errors.js';
import { buildContent, describeUnclear, parseRecipient } from './messages.js';

test('reads phone numbers as people write them, and groups', () => {
  expect(['+55 (11) 98765-4321', '120363@g.us'].map(parseRecipient)).toEqual([
    '5511987654321',
    '120363@g.us',
  ]);
  expect(() => parseRecipient('abc')).toThrow('8 to 15 digits');
});

test.each([
  [new ConnectionError('x'), true],
  [new ApiError({}, new Response(null, { status: 503 })), true],
  [new ApiError({}, new Response(null, { status: 422 })), false],
  [new CliError('usage', 'x'), false],
])('after %p the message may have been sent: %p', (error, unclear) => {
  const remark = describeUnclear(error, 'key-1');
  expect(remark?.includes('--idempotency-key=key-1') ?? false).toBe(unclear);
});

test('builds the content of a message by the type of the file', () => {
  const media = (mimetype: string) => ({ id: 'med_1', mimetype, filename: 'a.bin' });
  expect(buildContent('oi', null)).toEqual({ type: 'text', text: { body: 'oi' } });
  expect(buildContent('oi', media('image/png'))).toEqual({
    type: 'image',
    image: { media: { media_id: 'med_1' }, caption: 'oi' },
  });
  expect(buildContent(undefined, media('application/pdf'))).toEqual({
    type: 'document',
    document: { media: { media_id: 'med_1', filename: 'a.bin' } },
  });
  expect(() => buildContent('oi', media('audio/ogg'))).toThrow('no caption');
});
