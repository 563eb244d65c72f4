import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { PairingView, PairingRequest } from '@gwk/core/resources/pairing-request';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../instances/target.js';
import { decideStep, type Step } from './step.js';

/** Of one Instance. */
export interface PairCluster {
  instance(): Promise<InstanceResource | null>;
  wish(wish: PairingRequest | null): Promise<void>;
  view(): Promise<PairingView | null>;
}

export interface PairTerminal {
  cluster: PairCluster;
  print: (text: string) => void;
  /** The QR as text. */
  draw: (code: string) => Promise<string>;
  /** Whoever wished gives up. */
  signal: AbortSignal;
  lookMs?: number;
}

const LOOK_MS = 500;
/** Six QRs of 20 s are two minutes; an engine may have to start first. */
const PATIENCE_MS = 300_000;

/** @throws CliError where no phone comes to be paired */
export async function pair(
  terminal: PairTerminal,
  method: PairingRequest['method'],
  phone: string | null,
): Promise<void> {
  if (method === 'code' && phone === null) throw new CliError('--method code needs --phone');
  const { cluster, print } = terminal;
  const first = decideStep({ now: Date.now(), instance: await cluster.instance(), view: null, wish: null });
  if (first.do === 'finish') return print(first.say);
  if (first.do === 'give-up') throw new CliError(first.say);
  const until = new Date(Date.now() + PATIENCE_MS);
  const wish = { id: randomUUID(), method, phone, until: until.toISOString() };
  await cluster.wish(wish);
  try {
    await follow(terminal, wish, until.getTime());
  } finally {
    // Left behind it would only run out.
    await cluster.wish(null).catch(() => undefined);
  }
}

async function follow(terminal: PairTerminal, wish: PairingRequest, until: number): Promise<void> {
  const { cluster, print, signal, lookMs = LOOK_MS } = terminal;
  let said = '';
  while (Date.now() < until) {
    if (signal.aborted) throw new CliError('given up');
    const [instance, view] = await Promise.all([cluster.instance(), cluster.view()]);
    const step = decideStep({ now: Date.now(), instance, view, wish: wish.id });
    if (step.do === 'finish') return print(step.say);
    if (step.do === 'give-up') throw new CliError(step.say);
    const key = step.do === 'show' ? step.code : step.say;
    if (key !== said) print(await inWords(terminal, wish.method, step));
    said = key;
    await sleep(lookMs, undefined, { signal }).catch(() => undefined);
  }
  throw new CliError(`No phone was paired within ${PATIENCE_MS / 60_000} minutes`);
}

async function inWords(
  { draw }: PairTerminal,
  method: PairingRequest['method'],
  step: Extract<Step, { do: 'show' | 'wait' }>,
): Promise<string> {
  if (step.do === 'wait') return `${step.say} ...`;
  const how = 'On the phone: Settings > Linked devices > Link a device';
  if (method === 'code')
    return `${how} > Link with phone number instead, and type\n\n    ${grouped(step.code)}\n`;
  const drawn = await draw(step.code);
  return `${drawn}\n${how}, and scan this. It is good for ${step.seconds} s; the next one follows by itself.`;
}

const grouped = (code: string): string =>
  /^\w{8}$/.test(code) ? `${code.slice(0, 4)}-${code.slice(4)}` : code;
