import type { Logger } from '@gwk/core/process/log';
import type { BuiltMessageRecord, CallBody, Outcome, StateChange } from '@gwk/core/protocol/engine';
import type { Notice } from '@gwk/core/protocol/notices';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { InternalApiClient } from './client.js';
import { BatchSender, ITEM_BYTES } from '../batch-sender.js';

export type BatchSenders = ReturnType<typeof createBatchSenders>;

/** The batch senders of an engine. Each kind of item is stored in the order in which it happened. */
export function createBatchSenders(client: InternalApiClient, log: Logger) {
  const refused = (items: string) => (err: Error) =>
    log.error({ items, err }, 'the internal API refused an item');
  return {
    states: new BatchSender<StateChange, void>({
      maxItems: 50,
      send: async (changes) => toVoid(await client.callUntilAnswered('state', { changes }), changes),
      refused: refused('state'),
    }),
    /**
     * Resolves to whether the session is still open. One item a request: a late code would be shown for the next one.
     */
    pairing: new BatchSender<CallBody<'pairing'>, boolean>({
      maxItems: 1,
      send: async ([news]) => [(await client.callUntilAnswered('pairing', news!)).open],
      refused: refused('pairing'),
    }),
    /** Resolves to whether there may be messages to claim. */
    outcomes: new BatchSender<Outcome, boolean>({
      maxItems: 200,
      send: async (outcomes) => {
        const { waiting = true } = await client.callUntilAnswered('outcomes', { outcomes });
        return outcomes.map(() => waiting);
      },
      // Each message has two receipts that nobody waits for. They go with the next outcome.
      mayLinger: ({ kind }) => kind === 'receipt',
      refused: refused('outcome'),
    }),
    inbound: new BatchSender<InboundMessage, void>({
      maxItems: 100,
      estimateBytes: (message) => ITEM_BYTES + (message.text?.length ?? 0) * 3 + (message.card?.length ?? 0),
      send: async (messages) => toVoid(await client.callUntilAnswered('inbound', { messages }), messages),
      refused: refused('inbound'),
    }),
    notices: new BatchSender<Notice, void>({
      maxItems: 50,
      estimateBytes: estimateNotice,
      send: async (notices) => toVoid(await client.callUntilAnswered('notices', { notices }), notices),
      refused: refused('notice'),
    }),
    /** Resolves to whether this engine may still send the message. */
    built: new BatchSender<BuiltMessageRecord, boolean>({
      maxItems: 100,
      estimateBytes: (message) => ITEM_BYTES + message.built.length + (message.card?.length ?? 0),
      send: async (messages) => {
        const { stored } = await client.callUntilAnswered('built', { messages });
        const ours = new Set(stored);
        return messages.map(({ message_id }) => ours.has(message_id));
      },
      refused: refused('built'),
    }),
  };
}

/** Sends built messages first, because the answer decides outcomes. */
export async function drainSenders(senders: BatchSenders): Promise<void> {
  await senders.built.drain();
  await new Promise(setImmediate);
  await Promise.all(Object.values(senders).map((sender) => sender.drain()));
}

/** A person has two ids of at most 100 characters. */
function estimateNotice(notice: Notice): number {
  if (notice.kind === 'call') return ITEM_BYTES;
  const { joined = [], left = [], promoted = [], demoted = [], description } = notice;
  const people = [joined, left, promoted, demoted].flat().length;
  return ITEM_BYTES + 250 * people + 3 * (description?.length ?? 0);
}

function toVoid(_answer: object, items: readonly unknown[]): void[] {
  return items.map(() => undefined);
}
