import type { InstanceResource } from '../resources/manifest.js';
import type { PairingView, PairingRequest } from '../resources/pairing-request.js';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanText } from '../process/clean-text.js';
import { CliError } from '../process/cli-error.js';
import { decideStep, type Step } from './step.js';

/** Access to one Instance in its cluster. */
export interface PairCluster {
  instance(): Promise<InstanceResource | null>;
  setRequest(request: PairingRequest | null): Promise<void>;
  view(): Promise<PairingView | null>;
}

interface PairTerminal {
  cluster: PairCluster;
  print: (text: string) => void;
  /** Renders a QR code as text. */
  renderQr: (code: string) => Promise<string>;
  /** Aborted when the user interrupts the command. */
  signal: AbortSignal;
  pollMs?: number;
}

const POLL_MS = 500;
/** Six QR codes of 20 s take two minutes, an engine may have to start first, and a passkey may follow. */
const TIMEOUT_MS = 600_000;

/** @throws CliError if no phone is paired */
export async function pair(
  terminal: PairTerminal,
  method: PairingRequest['method'],
  phone: string | null,
): Promise<void> {
  if (method === 'code' && phone === null)
    throw new CliError('--method code needs --phone', { kind: 'usage' });
  const { cluster, print } = terminal;
  const first = decideStep({
    now: Date.now(),
    instance: await cluster.instance(),
    view: null,
    request: null,
  });
  if (first.do === 'finish') return print(cleanText(first.say));
  if (first.do === 'give-up') throw new CliError(first.say);
  const until = new Date(Date.now() + TIMEOUT_MS);
  const request = { id: randomUUID(), method, phone, until: until.toISOString() };
  await cluster.setRequest(request);
  try {
    await follow(terminal, request, until.getTime());
  } finally {
    // If this fails, the request expires.
    await cluster.setRequest(null).catch(() => undefined);
  }
}

async function follow(terminal: PairTerminal, request: PairingRequest, until: number): Promise<void> {
  const { cluster, print, signal, pollMs = POLL_MS } = terminal;
  let printed = '';
  while (Date.now() < until) {
    if (signal.aborted) throw new CliError('interrupted');
    const [instance, view] = await Promise.all([cluster.instance(), cluster.view()]);
    const step = decideStep({ now: Date.now(), instance, view, request: request.id });
    if (step.do === 'finish') return print(cleanText(step.say));
    if (step.do === 'give-up') throw new CliError(step.say);
    const key = step.do === 'show' ? step.code : step.say;
    if (key !== printed) print(await describeStep(terminal, request.method, step));
    printed = key;
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  throw new CliError(`No phone was paired within ${TIMEOUT_MS / 60_000} minutes`, { kind: 'timeout' });
}

async function describeStep(
  { renderQr }: PairTerminal,
  method: PairingRequest['method'],
  step: Extract<Step, { do: 'show' | 'wait' }>,
): Promise<string> {
  if (step.do === 'wait') return `${cleanText(step.say)} ...`;
  if (method === 'code') return describeCode(cleanText(step.code));
  const qr = await renderQr(step.code);
  return `${qr}\n${describeQr(step.seconds)}`;
}

const HOW = 'On the phone: Settings > Linked devices > Link a device';

/** How to use the QR code above this text. */
export const describeQr = (seconds: number): string =>
  `${HOW}, and scan this. It is valid for ${seconds} s; the next one follows automatically.`;

/** A code to type on the phone, and how. */
export const describeCode = (code: string): string =>
  `${HOW} > Link with phone number instead, and type\n\n    ${code.replace(/^(\w{4})(\w{4})$/, '$1-$2')}\n`;
