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
