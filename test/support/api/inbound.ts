import type { Database } from '@gwk/api/database/database';
import { openEventData } from '@gwk/api/events/emit';
import type { Message } from '@gwk/api/generated/prisma/client';
import { sealMenu } from '@gwk/api/messages/content';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { OpenMenu } from '@gwk/api/inbound/menus/replies';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { sharedInternalApi, type InternalApiWorld, type TestEngine } from './internal-api.js';

/** Inbound messages over the engine protocol, and the events that result. */
export interface SeenEvent {
  type: string;
  data: Record<string, unknown>;
}

export interface GivenMenu extends Partial<Pick<OpenMenu, 'kind' | 'mode' | 'options' | 'sentAt'>> {
  selectable?: number | null;
}

export interface SentMenuRow {
  messageId: string;
  publicId: string;
  waMessageId: string;
}

export const jid = (phone: string): string => `${phone}@s.whatsapp.net`;

const OPTIONS = [
  { id: 'yes', label: 'Sim', number: 1 },
  { id: 'no', label: 'Não', number: 2 },
];

export class InboundStage {
  #people = 0;

  private constructor(readonly internalApi: InternalApiWorld) {}

  static async open(): Promise<InboundStage> {
    return new InboundStage(await sharedInternalApi());
  }

  get database(): Database {
    return this.internalApi.world.database;
  }

  close(): Promise<void> {
    return this.internalApi.close();
  }

  async engine(values?: Record<string, unknown>): Promise<TestEngine> {
    return (await this.internalApi.addEngine(values)).acquire();
  }

  /** Returns a random phone number. */
  someone(): string {
    return `55119${String(80_000_000 + this.#people++)}`;
  }

  someLid(): string {
    return `${20_000_000_000 + this.#people++}@lid`;
  }

  text(from: string, text: string, given: Partial<InboundMessage> = {}): InboundMessage {
    const id = from.includes('@') ? from : jid(from);
    return {
      wa_message_id: newUuid(),
      chat: id,
      from: id,
      from_name: null,
      from_me: false,
      at: new Date().toISOString(),
      type: 'text',
      text,
      quoted_wa_message_id: null,
      ...given,
    };
  }

  async receive(engine: TestEngine, ...messages: InboundMessage[]): Promise<void> {
    await engine.call('inbound', { messages });
  }

  /** Events of an instance, oldest first. */
  async events(engine: TestEngine, type?: string): Promise<SeenEvent[]> {
    const where = { instanceId: engine.instanceId, ...(type !== undefined && { type }) };
    const rows = await this.database.event.findMany({ where, orderBy: { id: 'asc' } });
    return rows.map((row) => ({
      type: row.type,
      data: openEventData(this.internalApi.world.sealer, row.accountId, row.dataSealed),
    }));
  }

  async types(engine: TestEngine): Promise<string[]> {
    return (await this.events(engine)).map(({ type }) => type);
  }

  async lastEvent(engine: TestEngine, type?: string): Promise<SeenEvent> {
    return (await this.events(engine, type)).at(-1)!;
  }

  inbound(engine: TestEngine): Promise<Message[]> {
    const where = { instanceId: engine.instanceId, direction: 'inbound' };
    return this.database.message.findMany({ where, orderBy: { id: 'asc' } });
  }

  message(id: string): Promise<Message> {
    return this.database.message.findUniqueOrThrow({ where: { id } });
  }

  /** Sends a message: claimed, built and reported as sent, with its network id. */
  async sent(engine: TestEngine, to: string): Promise<Message> {
    const id = await this.internalApi.accept({ instance: engine.instanceId, to });
    await engine.claim();
    await engine.build(id);
    await engine.sent(id);
    return this.message(id);
  }

  /** Sends a menu. */
  async menu(engine: TestEngine, to: string, given: GivenMenu = {}): Promise<SentMenuRow> {
    const { id, conversationId, waMessageId } = await this.sent(engine, to);
    const { kind = 'interactive', mode = 'native+text', options = OPTIONS, sentAt = new Date() } = given;
    const content = { options, selectable: given.selectable ?? (kind === 'poll' ? 1 : null) };
    await this.database.menu.create({
      data: {
        messageId: id,
        conversationId,
        instanceId: engine.instanceId,
        waMessageId: waMessageId!,
        kind,
        mode,
        optionsSealed: new Uint8Array(sealMenu(this.internalApi.world.sealer, engine.instanceId, content)),
        sentAt,
        deleteAt: new Date(sentAt.getTime() + 90 * 86_400_000),
      },
    });
    return { messageId: id, publicId: toPublicId('message', id), waMessageId: waMessageId! };
  }
}
