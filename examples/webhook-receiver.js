// A webhook receiver without dependencies. It verifies the signature of each call (Standard Webhooks) and prints it.
//
//     node examples/webhook-receiver.js PORT whsec_...
//
// gwk delivers at least once. A real receiver ignores a `webhook-id` that it has processed.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const [port, secret] = process.argv.slice(2);
if (!port || !secret?.startsWith('whsec_')) {
  console.error('usage: node examples/webhook-receiver.js PORT whsec_...');
  process.exit(2);
}
const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
const TOLERANCE_S = 5 * 60;

/** The signature covers the raw body, so verify it before parsing. An old timestamp may be a replay. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < TOLERANCE_S)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  // For 24 hours after a rotation of the secret, gwk signs with the new and the old secret.
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const genuine = isGenuine(request.headers, body);
  response.writeHead(genuine ? 200 : 401).end();
  console.log(genuine ? 'signature ok' : 'SIGNATURE WRONG', request.headers['webhook-id'], body.toString());
}).listen(Number(port), '127.0.0.1', () => console.log(`listening on 127.0.0.1:${port}`));
