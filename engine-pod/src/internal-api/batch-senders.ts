import type { Logger } from '@gwk/core/log';
import type { Outcome, StateChange, CallBody } from '@gwk/core/protocol/engine';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { BuiltMessageRecord } from '../sends/send-task.js';
import type { InternalApiClient } from './client.js';
import { BatchSender } from './batch-sender.js';

const BASE_BYTES = 500;

/** The batch senders of an engine. Each kind of item is stored in the order in which it happened. */
export class BatchSenders {
  readonly states: BatchSender<StateChange, void>;
  /**
   * Resolves to whether the session is still open. One item a request: a late code would be shown for the next one.
   */
  readonly pairing: BatchSender<CallBody<'pairing'>, boolean>;
  /** Resolves to whether there may be messages to claim. */
  readonly outcomes: BatchSender<Outcome, boolean>;
  readonly inbound: BatchSender<InboundMessage, void>;
  /** Resolves to whether this engine may still send the message. */
  readonly built: BatchSender<BuiltMessageRecord, boolean>;

  constructor(client: InternalApiClient, log: Logger) {
    this.states = new BatchSender({
      name: 'state',
      maxItems: 50,
      estimateBytes: () => BASE_BYTES,
      send: async (changes) => toVoid(await client.callUntilAnswered('state', { changes }), changes),
      log,
    });
    this.pairing = new BatchSender({
      name: 'pairing',
      maxItems: 1,
      estimateBytes: () => BASE_BYTES,
      send: async ([news]) => [(await client.callUntilAnswered('pairing', news!)).open],
      log,
    });
    this.outcomes = new BatchSender({
      name: 'outcome',
      maxItems: 200,
      estimateBytes: () => BASE_BYTES,
      send: async (outcomes) => {
        const { waiting = true } = await client.callUntilAnswered('outcomes', { outcomes });
        return outcomes.map(() => waiting);
      },
      // Each message has two receipts that nobody waits for. They go with the next outcome.
      mayLinger: ({ kind }) => kind === 'receipt',
      log,
    });
    this.inbound = new BatchSender({
      name: 'inbound',
      maxItems: 100,
      estimateBytes: (message) => BASE_BYTES + (message.text?.length ?? 0) * 3,
      send: async (messages) => toVoid(await client.callUntilAnswered('inbound', { messages }), messages),
      log,
    });
    this.built = new BatchSender({
      name: 'built',
      maxItems: 100,
      estimateBytes: (message) => BASE_BYTES + message.built.length,
      send: async (messages) => {
        const { stored } = await client.callUntilAnswered('built', { messages });
        const ours = new Set(stored);
        return messages.map(({ message_id }) => ours.has(message_id));
      },
      log,
    });
  }

  async drain(): Promise<void> {
    await Promise.all([
      this.states.drain(),
      this.pairing.drain(),
      this.outcomes.drain(),
      this.inbound.drain(),
      this.built.drain(),
    ]);
  }
}

function toVoid(_answer: object, items: readonly unknown[]): void[] {
  return items.map(() => undefined);
}
