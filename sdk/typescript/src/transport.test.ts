import { Gwk } from './client.js';
import { TimeoutError } from './errors.js';

test('requests end after the timeout of the client, and uploads only after one of their own', async () => {
  const client = new Gwk({
    baseUrl: 'http://gateway',
    timeout: 1,
    retries: 0,
    fetch: ({ signal }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(Response.json({})), 50);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason as Error);
        });
      }),
  });
  const file = new Blob(['x']);
  await expect(client.messages.get('msg_1')).rejects.toThrow(TimeoutError);
  await expect(client.media.upload({ file })).resolves.toEqual({});
  await expect(client.media.upload({ file }, { timeout: 1 })).rejects.toThrow(TimeoutError);
});

test('changes have different keys, also on a page over plain HTTP, which has no randomUUID', async () => {
  const keys: (string | null)[] = [];
  const client = new Gwk({
    baseUrl: 'http://gateway',
    fetch: ({ headers }) => {
      keys.push(headers.get('Idempotency-Key'));
      return Promise.resolve(Response.json({}));
    },
  });
  const absent = { value: undefined, configurable: true };
  Object.defineProperty(crypto, 'randomUUID', absent);
  try {
    for (const file of [new Blob(['x']), new Blob(['x']).stream()]) await client.media.upload({ file });
  } finally {
    Reflect.deleteProperty(crypto, 'randomUUID');
  }
  const uuid = expect.stringMatching(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  ) as string;
  expect(keys).toEqual([uuid, uuid]);
  expect(keys[0]).not.toBe(keys[1]);
});
