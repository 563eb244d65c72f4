import type { Logger } from '@gwk/core/log';
import type { InboundMessage, Outcome, StateChange, CallBody } from '@gwk/core/protocol/engine';
import type { BuiltMessage } from '../sends/delivery.js';
import type { Port } from './client.js';
import { Poster } from './batch-sender.js';

const SMALL = 500;

/** What an engine writes through its port, each kind in the order in which it happened. */
export class Posters {
  readonly states: Poster<StateChange, void>;
  /** Whether anybody still waits for the session. One by one: a code that came late would be shown for the next. */
  readonly pairing: Poster<CallBody<'pairing'>, boolean>;
  /** Whether there may be something to claim after that. */
  readonly outcomes: Poster<Outcome, boolean>;
  readonly inbound: Poster<InboundMessage, void>;
  /** Whether the message is still this engine's to send. */
  readonly built: Poster<BuiltMessage, boolean>;

  constructor(port: Port, log: Logger) {
    this.states = new Poster({
      name: 'state',
      maxItems: 50,
      weigh: () => SMALL,
      post: async (changes) => nothing(await port.insist('state', { changes }), changes),
      log,
    });
    this.pairing = new Poster({
      name: 'pairing',
      maxItems: 1,
      weigh: () => SMALL,
      post: async ([news]) => [(await port.insist('pairing', news!)).open],
      log,
    });
    this.outcomes = new Poster({
      name: 'outcome',
      maxItems: 200,
      weigh: () => SMALL,
      post: async (outcomes) => {
        const { waiting = true } = await port.insist('outcomes', { outcomes });
        return outcomes.map(() => waiting);
      },
      // Of one message come two, when nobody waits for them: with the next outcome, where many are sent.
      patient: ({ kind }) => kind === 'receipt',
      log,
    });
    this.inbound = new Poster({
      name: 'inbound',
      maxItems: 100,
      weigh: (message) => SMALL + (message.text?.length ?? 0) * 3,
      post: async (messages) => nothing(await port.insist('inbound', { messages }), messages),
      log,
    });
    this.built = new Poster({
      name: 'built',
      maxItems: 100,
      weigh: (message) => SMALL + message.built.length,
      post: async (messages) => {
        const { stored } = await port.insist('built', { messages });
        const ours = new Set(stored);
        return messages.map(({ message_id }) => ours.has(message_id));
      },
      log,
    });
  }

  async drained(): Promise<void> {
    await Promise.all([
      this.states.drained(),
      this.pairing.drained(),
      this.outcomes.drained(),
      this.inbound.drained(),
      this.built.drained(),
    ]);
  }
}

function nothing(_answer: object, items: readonly unknown[]): void[] {
  return items.map(() => undefined);
}
