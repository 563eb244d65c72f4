import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from '../helper-program.js';
import type { PairingTerms, PhoneEvent } from '@gwk/engine-pod/driver/sandbox-network';
import type { ChatRule, Stanza } from './network.js';
import { Phones } from './phones.js';

/** The network of sandbox engines (network.ts): records every stanza raw, acknowledges as told. */
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

async function ruleFor(chat: string): Promise<ChatRule> {
  for (;;) {
    const rule = rules.get(chat) ?? rules.get(EVERY_CHAT) ?? {};
    if (!rule.hold) return rule;
    await new Promise((resolve) => setTimeout(resolve, HOLD_STEP_MS));
  }
}

async function receive(request: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
  if (await phones.serve(request, text, response)) return;
  if (request.url !== '/stanza') throw new Error(`no route ${request.url}`);
  const stanza = record(JSON.parse(text) as StanzaBody);
  const rule = await ruleFor(stanza.chat);
  if (rule.swallow !== undefined && rule.swallow > 0) {
    rule.swallow -= 1;
    return; // no answer, as when the network loses the stanza or the ack
  }
  if (rule.delayMs) await new Promise((resolve) => setTimeout(resolve, rule.delayMs));
  if (!rule.code) stanza.acknowledged = true;
  const answer = rule.code ? { ack: false, code: rule.code } : { ack: true };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

serve(
  {
    rule: ({ chat, ...rule }: ChatRule & { chat?: string }) => void rules.set(chat ?? EVERY_CHAT, rule),
    stanzas: ({ from }: { from: number }) => ({ stanzas: stanzas.slice(from) }),
    phone: ({ instanceId, ...event }: PhoneEvent & { instanceId: string }) => phones.do(instanceId, event),
    signals: () => ({ signals: phones.signals }),
    terms: (terms: PairingTerms) => void (phones.terms = terms),
    mood: ({ mood }: Pick<Phones, 'mood'>) => void (phones.mood = mood),
    count: () => ({ count: stanzas.length }),
  },
  receive,
);
