import { setImmediate as turn } from 'node:timers/promises';
import type { BuiltMessageRecord, ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import { SendFailure, type Driver, type EncodedMessage, type Stanza } from '@gwk/engine-pod/driver/driver';
import { NotifiedTexts } from '@gwk/engine-pod/sends/fast/notified-texts';
import { Gate } from '@gwk/engine-pod/sends/gate';
import { Sender } from '@gwk/engine-pod/sends/sender';
import { ManualClock } from '../clock.js';

export const messageOf = (id: string): ClaimedMessage => ({
  message_id: id,
  conversation_id: 'c1',
  chat: '551@s.whatsapp.net',
  wa_message_id: `3EB0${id}`,
  type: 'text',
  content: '{"type":"text","text":{"body":"hello"}}',
  interactive_mode: 'native+text',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
});

export interface SenderScript {
  /** Runs for each message that the engine writes to the network; throws if the write fails. */
  send?: (id: string) => unknown;
  isOurs?: (id: string) => boolean | Promise<boolean>;
  build?: (message: ClaimedMessage) => void;
  /** Before the message is stored. */
  encrypt?: () => void;
  isOpen?: () => boolean;
  report?: (outcome: Outcome) => Promise<boolean>;
}

/** A sender whose outcomes stay unrecorded. */
export function openSender({
  send,
  build,
  encrypt,
  isOurs = () => true,
  isOpen = () => true,
  report = unanswered,
}: SenderScript) {
  const written: string[] = [];
  const stored: BuiltMessageRecord[] = [];
  const settled: unknown[] = [];
  const reported: Outcome[] = [];
  const clock = new ManualClock();
  const built: EncodedMessage = { bytes: Buffer.from('built'), rendered_as: null, menu: null };
  const driver = {
    build: async (message) => (build?.(message), built),
    send: async ({ stored, mayWrite, waMessageId }: Stanza) => {
      encrypt?.();
      await stored;
      if (!mayWrite()) throw SendFailure.notWritten();
      written.push(waMessageId);
      await send?.(waMessageId);
    },
  } as Partial<Driver> as Driver;
  let givenBack = 0;
  const sender = new Sender({
    ...{ driver, ackTimeoutMs: 60_000, clock },
    gate: new Gate(isOpen, () => false),
    storeBuilt: async (record) => (stored.push(record), isOurs(record.message_id)),
    resending: () => undefined,
    rateLimited: () => undefined,
    report: (outcome) => (reported.push(outcome), report(outcome)),
    settled: (notification, waiting) => void settled.push({ notification, waiting }),
    returned: () => void givenBack++,
    finished: () => undefined,
  });
  const texts = new NotifiedTexts(sender, clock);
  const accept = (messages: ClaimedMessage[], claimId: string) => {
    texts.recordClaim(messages);
    sender.accept(messages, claimId);
  };
  const kinds = () => reported.map(({ kind }) => kind);
  return {
    sender,
    texts,
    accept,
    written,
    reported,
    stored,
    settled,
    kinds,
    clock,
    givenBack: () => givenBack,
  };
}

export const unanswered = () => new Promise<never>(() => undefined);
export const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};
