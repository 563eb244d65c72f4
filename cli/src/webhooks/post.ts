import { randomBytes } from 'node:crypto';
import type { GwkEvent } from '@gwk/client';
import { InvalidArgumentError } from 'commander';
import { Webhook } from 'standardwebhooks';
import { note } from '../command.js';
import { CliError } from '../errors.js';

const TIMEOUT_MS = 15_000;

/** The secret of the environment, else a new one. @throws CliError that does not print it */
export function chooseSecret(env: Readonly<Record<string, string | undefined>>): string {
  const given = env['GWK_WEBHOOK_SECRET'];
  if (given !== undefined && !/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(given))
    throw new CliError('usage', 'GWK_WEBHOOK_SECRET is not a secret: whsec_ and base64');
  if (given !== undefined) return given;
  const made = newSecret();
  note(`Signing secret of this run: ${made}`);
  return made;
}

/** @throws InvalidArgumentError */
export function parseTarget(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('an address like http://localhost:3000');
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Headers of Standard Webhooks, as the gateway sends them. */
export function signEvent(secret: string, id: string, body: string, now: Date): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'gwk-cli',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  };
}

export interface PostResult {
  /** Null: no answer. */
  status: number | null;
  ms: number;
  fault: string | null;
}

/** Posts one event as a webhook has it, signed at this moment. It follows no redirect, as the gateway does. */
export async function postEvent(target: string, secret: string, event: GwkEvent): Promise<PostResult> {
  const { type, timestamp, data } = event;
  const body = JSON.stringify({ type, timestamp, data });
  const headers = signEvent(secret, event.id, body, new Date());
  const started = performance.now();
  const elapsed = () => Math.round(performance.now() - started);
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(target, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return { status: response.status, ms: elapsed(), fault: null };
  } catch (error) {
    const { cause, message } = error as Error;
    return { status: null, ms: elapsed(), fault: (cause as Error | undefined)?.message || message };
  }
}

export function describePost(event: GwkEvent, { status, ms, fault }: PostResult): string {
  return `${status ?? 'no answer'}  ${ms} ms  ${event.type}  ${event.id}${fault === null ? '' : `  (${fault})`}`;
}
