import type { IncomingMessage, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { serve } from '../helper-program.js';
import type { ReceivedCall, ReceiverRule } from './receiver.js';

/** Webhook receiver (receiver.ts). It verifies signatures with the reference library and records everything. */
type Headers = Record<string, string>;

const secrets = new Map<string, string>();
const rules = new Map<string, ReceiverRule>();
const calls: ReceivedCall[] = [];
/** Calls received before setSecret. They are verified once the secret is known. */
const unjudged = new Map<ReceivedCall, { body: string; headers: Headers }>();

function verified(secret: string, body: string, headers: Headers): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? '/', 'http://receiver').pathname;
}

function record(path: string, body: string, headers: Headers): ReceivedCall {
  const secret = secrets.get(path);
  const { type, timestamp, data } = JSON.parse(body) as Pick<ReceivedCall, 'type' | 'timestamp' | 'data'>;
  const call: ReceivedCall = {
    path,
    id: headers['webhook-id'] ?? '',
    at: Date.now(),
    verified: secret === undefined ? null : verified(secret, body, headers),
    answered: null,
    type,
    timestamp,
    data,
    ...(headers['traceparent'] !== undefined && { traceparent: headers['traceparent'] }),
  };
  if (secret === undefined) unjudged.set(call, { body, headers });
  calls.push(call);
  return call;
}

async function receive(request: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
  const path = pathOf(request);
  const call = record(path, body, request.headers as Headers);
  const rule = rules.get(path) ?? {};
  if (rule.delayMs) await new Promise((resolve) => setTimeout(resolve, rule.delayMs));
  const failing = rule.failures !== undefined && rule.failures > 0;
  if (failing) rule.failures! -= 1;
  call.answered = failing ? (rule.status ?? 500) : call.verified === false ? 401 : 200;
  response.writeHead(call.answered, { 'content-type': 'text/plain' }).end(failing ? 'as told' : 'ok');
}

serve(
  {
    secret: ({ path, secret }: { path: string; secret: string }) => {
      secrets.set(path, secret);
      for (const [call, { body, headers }] of unjudged) {
        if (call.path !== path) continue;
        call.verified = verified(secret, body, headers);
        unjudged.delete(call);
      }
    },
    rule: ({ path, ...rule }: ReceiverRule & { path: string }) => void rules.set(path, rule),
    calls: ({ path }: { path?: string }) => ({
      calls: calls.filter((call) => path === undefined || call.path === path),
    }),
  },
  receive,
);
