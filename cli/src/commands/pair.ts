import type { StreamEvent } from '@gwk/client';
import { addPairOptions, type PairOptions } from '@gwk/core/pairing/options';
import { describeCode, describeQr } from '@gwk/core/pairing/pair';
import { renderQr } from '@gwk/core/pairing/terminal';
import type { Command } from 'commander';
import {
  addCommand,
  note,
  openGateway,
  print,
  printRaw,
  renderJson,
  type CommonOptions,
} from '../command.js';
import { CliError } from '../errors.js';
import { findInstance } from './instances.js';

/** Next step of the command. */
export type PairStep =
  | { do: 'show-qr'; code: string; seconds: number }
  | { do: 'say'; text: string }
  | { do: 'finish' }
  | { do: 'give-up'; reason: string }
  | { do: 'wait' };

export function registerPair(program: Command): void {
  addPairOptions(
    addCommand(program, 'pair <instance>', 'link a phone with an instance: prints the QR code'),
  ).action(pair);
}

async function pair(given: string, options: PairOptions & CommonOptions): Promise<void> {
  const { method, phone, json } = options;
  if (method === 'code' && phone === undefined) throw new CliError('usage', '--method code needs --phone');
  const gateway = openGateway(options);
  const { id, name, state } = await findInstance(gateway, given);
  if (state === 'connected')
    return print(json ? renderJson({ event: 'connected' }) : `${name} is already connected`);
  await gateway.instances.startPairing(id, { method, ...(phone !== undefined && { phone }) });
  for await (const event of gateway.instances.streamPairing(id)) {
    if (json) print(renderJson(event));
    const step = decidePairStep(event);
    if (step.do === 'give-up') throw new CliError('refused', step.reason);
    if (!json) await show(step, name);
    if (step.do === 'finish') return;
  }
  throw new CliError('network', 'The pairing ended without a result. Run the command again');
}

/** Pure. */
export function decidePairStep({ event, data }: StreamEvent): PairStep {
  const fields = data as PairFields;
  if (event === 'connected') return { do: 'finish' };
  if (event === 'qr' || event === 'code') return showCode(event, fields);
  if (event === 'error')
    return {
      do: 'give-up',
      reason: [fields.title ?? 'The pairing ended', fields.detail ?? ''].join('\n').trim(),
    };
  const text = REMARKS[event];
  return text === undefined ? { do: 'wait' } : { do: 'say', text };
}

interface PairFields {
  code?: string;
  expires_in_s?: number;
  title?: string;
  detail?: string;
}

const PASSKEY = 'The phone asks for its passkey. Continue on the pairing page of the console.';
const REMARKS: Readonly<Record<string, string>> = {
  paired: 'The phone has linked the device. Connecting ...',
  passkey: PASSKEY,
  passkey_code: PASSKEY,
};

function showCode(event: 'qr' | 'code', { code, expires_in_s: seconds = 0 }: PairFields): PairStep {
  if (code === undefined)
    return { do: 'give-up', reason: 'The key may not read the code: it needs the scope instances:write' };
  if (event === 'qr') return { do: 'show-qr', code, seconds };
  return { do: 'say', text: describeCode(code) };
}

async function show(step: PairStep, name: string): Promise<void> {
  if (step.do === 'say') return note(step.text);
  if (step.do === 'finish') return print(`${name} is connected`);
  if (step.do !== 'show-qr') return;
  printRaw(await renderQr(step.code));
  note(describeQr(step.seconds));
}
