// What a program does with @gwk/client, on each of the platforms that its page names. Prints the results as JSON.
import { Blob } from 'node:buffer';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { ApiError, Gwk } from '@gwk/client';

const { GWK_ADDRESS, GWK_API_KEY, INSTANCE: instance_id, RECIPIENT: to, FILE, DELIVERY } = process.env;
const client = new Gwk({ baseUrl: GWK_ADDRESS, apiKey: GWK_API_KEY });

const { next_cursor } = await client.events.list({ after: 'now', limit: 1 });
const files = [{ path: FILE }, new Blob(['Blob']), new Blob(['Stream']).stream()];
const uploads = [];
for (const file of files) uploads.push(await client.media.upload({ file, filename: 'note.txt' }));
const message = await client.messages.send({
  instance_id,
  to,
  type: 'document',
  document: { media: { media_id: uploads[0].id } },
});
let isFollowed = false;
for await (const { event } of client.events.follow({ after: next_cursor })) {
  isFollowed = event.data.message_id === message.id;
  if (isFollowed) break;
}
let listed = 0;
for await (const one of client.messages.list({ limit: 1 })) listed += one.id === message.id ? 1 : 0;
const error = await client.messages.get('msg_1').catch((thrown) => thrown);
const { headers, body, secret } = JSON.parse(readFileSync(DELIVERY, 'utf8'));
const { text } = client.events.verify(headers, body, secret).data;
const sizes = uploads.map(({ size }) => size);
console.log(JSON.stringify({ sizes, isFollowed, listed, isApiError: error instanceof ApiError, text }));
