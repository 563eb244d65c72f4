import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from '../helper-program.js';
import type { PairingTerms, PhoneEvent } from '@gwk/engine-pod/driver/sandbox/network';
import type { ChatRule, Stanza } from './network.js';
import { Phones } from './phones.js';

/** Network of sandbox engines (network.ts). It records every stanza raw and acknowledges according to its rules. */
interface StanzaBody {
  instance_id: string;
  pod: string;
  epoch: number;
  wa_message_id: string;
  chat: string;
  body: string;
}

const EVERY_CHAT = '*';
const stanzas: Stanza[] = [];
const rules = new Map<string, ChatRule>();
const phones = new Phones();

function textOf(bytes: string): string {
  try {
    const content = JSON.parse(bytes) as { text?: { body?: string } };
    return content.text?.body ?? '';
  } catch {
    return '';
  }
}

function record(body: StanzaBody): Stanza {
  const bytes = Buffer.from(body.body, 'base64').toString('utf8');
  const stanza: Stanza = {
    n: stanzas.length,
    at: Date.now(),
    instanceId: body.instance_id,
    pod: body.pod,
    epoch: body.epoch,
    waMessageId: body.wa_message_id,
    chat: body.chat,
    bytes,
    text: textOf(bytes),
    acknowledged: false,
  };
  stanzas.push(stanza);
  return stanza;
}

const HOLD_STEP_MS = 10;

const keyOf = (chat: string, instanceId = ''): string => `${instanceId} ${chat}`;

async function ruleFor({ chat, instanceId }: Stanza): Promise<ChatRule> {
  for (;;) {
    const rule =
      [keyOf(chat, instanceId), keyOf(chat), EVERY_CHAT].flatMap((key) => rules.get(key) ?? [])[0] ?? {};
    if (!rule.hold) return rule;
    await new Promise((resolve) => setTimeout(resolve, HOLD_STEP_MS));
  }
}

async function receive(request: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
  if (await phones.serve(request, text, response)) return;
  if (request.url !== '/stanza') throw new Error(`no route ${request.url}`);
  const stanza = record(JSON.parse(text) as StanzaBody);
  const rule = await ruleFor(stanza);
  if (rule.swallow !== undefined && rule.swallow > 0) {
    rule.swallow -= 1;
    return; // no response, as if the network lost the stanza or the ack
  }
  if (rule.delayMs) await new Promise((resolve) => setTimeout(resolve, rule.delayMs));
  if (!rule.code) stanza.acknowledged = true;
  const answer = rule.code ? { ack: false, code: rule.code } : { ack: true };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

serve(
  {
    rule: ({ chat, instanceId, ...rule }: ChatRule & { chat?: string; instanceId?: string }) =>
      void rules.set(chat === undefined ? EVERY_CHAT : keyOf(chat, instanceId), rule),
    stanzas: ({ from, instanceId }: { from: number; instanceId?: string }) => ({
      stanzas: stanzas
        .slice(from)
        .filter((stanza) => instanceId === undefined || stanza.instanceId === instanceId),
    }),
    phone: ({ instanceId, ...event }: PhoneEvent & { instanceId: string }) => phones.do(instanceId, event),
    signals: ({ instanceId }: { instanceId: string }) => ({
      signals: phones.signals.filter((signal) => signal.instanceId === instanceId),
    }),
    terms: ({ instanceId, ...terms }: PairingTerms & { instanceId: string }) =>
      void phones.termsOf.set(instanceId, terms),
    count: () => ({ count: stanzas.length }),
  },
  receive,
);
