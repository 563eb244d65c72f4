import { randomUUID } from 'node:crypto';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { encodeCommand, type Command, type CommandName } from '@gwk/core/protocol/commands';
import type { ClaimedMessage, StateChange } from '@gwk/core/protocol/engine';
import { encodeNotified } from '@gwk/core/protocol/notified-messages';
import { RedisConnection, type RedisAddress } from '@gwk/engine-pod/redis/connection';
import { redisPrefix, redisUrl } from '../servers/servers.js';
import { toRedisAddress } from './addresses.js';
import { EngineInProcess } from './engine-in-process.js';
import { EngineProcess, until, type EngineSettings } from './engine-process.js';
import { ScriptedNetwork, type Beside } from './scripted-network.js';
import { ScriptedInternalApi, type ScriptedInternalApiOptions } from './scripted-internal-api.js';

interface StagedEngine {
  log: string;
  kill(): Promise<void>;
}

interface StageParts<E> {
  api: ScriptedInternalApi;
  network: ScriptedNetwork;
  redis: RedisConnection;
  prefix: string;
  newEngine: (settings: EngineSettings) => E;
}

type StageOptions = Partial<ScriptedInternalApiOptions> & { beside?: Beside };

/** Far longer than any machine takes, so only a missing reply reaches it. */
const REPLY_LIMIT_MS = 120_000;

/** An engine with a scripted internal API and network and a real Redis. */
export class Stage<E extends StagedEngine = EngineProcess> {
  readonly api: ScriptedInternalApi;
  readonly network: ScriptedNetwork;
  readonly redis: RedisConnection;
  readonly keys: RedisKeys;
  readonly #newEngine: (settings: EngineSettings) => E;
  readonly #engines: E[] = [];

  private constructor({ api, network, redis, prefix, newEngine }: StageParts<E>) {
    this.api = api;
    this.network = network;
    this.redis = redis;
    this.keys = new RedisKeys(prefix);
    this.#newEngine = newEngine;
  }

  /**
   * With engines in processes of their own.
   *
   * @param redis the tests' own access; engines use it too unless `options.redis` is set
   */
  static async open(redis: RedisAddress, prefix: string, options: StageOptions = {}): Promise<Stage> {
    const newEngine = (settings: EngineSettings) => new EngineProcess(settings);
    return new Stage({ ...(await Stage.#parts(redis, prefix, options)), newEngine });
  }

  /** With engines in this process. */
  static async openInProcess(options: StageOptions = {}): Promise<Stage<EngineInProcess>> {
    const newEngine = (settings: EngineSettings) => new EngineInProcess(settings);
    return new Stage({
      ...(await Stage.#parts(toRedisAddress(redisUrl()), redisPrefix(), options)),
      newEngine,
    });
  }

  static async #parts(redis: RedisAddress, prefix: string, { beside, ...options }: StageOptions) {
    const api = await ScriptedInternalApi.start({ redis: { ...redis, key_prefix: prefix }, ...options });
    const network = await ScriptedNetwork.start(beside);
    return { api, network, redis: await RedisConnection.open(redis), prefix };
  }

  async close(): Promise<void> {
    // An engine in this process stops gracefully, and must not wait for calls that a test left unanswered.
    this.api.fault = () => 'fenced';
    this.api.cutOff();
    await this.network.stop();
    for (const engine of this.#engines.splice(0)) await engine.kill();
    await this.redis.call(['DEL', this.sends, this.commands]).catch(() => undefined);
    this.redis.close();
    await this.api.down();
  }

  get sends(): string {
    return this.keys.sends(this.api.instanceId);
  }
  get commands(): string {
    return this.keys.commands(this.api.instanceId);
  }
  get changes(): StateChange[] {
    return this.api.items<StateChange>('state', 'changes');
  }
  get states(): string[] {
    return this.changes.map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`));
  }
  get sent(): number {
    return this.api.queue.outcomesOf('sent').length;
  }

  /** Started, possibly waiting for its lease. */
  launch(settings: Partial<EngineSettings> = {}): E {
    const all = { internalUrl: this.api.url, networkUrl: this.network.url, ...settings };
    const engine = this.#newEngine(all);
    this.#engines.push(engine);
    return engine;
  }

  /** Started and connected. */
  async start(settings: Partial<EngineSettings> = {}): Promise<E> {
    const before = this.changes.length;
    const engine = this.launch(settings);
    const connected = () => this.changes.slice(before).some(({ state }) => state === 'connected');
    await until('the engine is connected', connected).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\n${engine.log}`);
    });
    return engine;
  }

  /** Notifies of messages that the engine need not claim. */
  async hand(...messages: ClaimedMessage[]): Promise<void> {
    const { message_id } = messages[0]!;
    const notified = messages.map(({ conversation_id, chat, wa_message_id, type, content, ...rest }) => {
      return { message_id: rest.message_id, conversation_id, chat, wa_message_id, type, content };
    });
    const encrypted = encodeNotified(notified, message_id, this.api.commandKey)!;
    await this.redis.call(['XADD', this.sends, '*', 'm', message_id, 'n', encrypted]);
  }

  async notify(...messageIds: string[]): Promise<void> {
    await Promise.all(messageIds.map((id) => this.redis.call(['XADD', this.sends, '*', 'm', id])));
  }

  /** When the engine was last connected, by its heartbeat; NaN if it has none. */
  async lastConnected(): Promise<number> {
    const { instanceId, epoch } = this.api;
    return Number((await this.redis.call(['GET', this.keys.connected(instanceId, epoch)])) ?? Number.NaN);
  }

  /** Sends a command and waits for its reply. */
  command(name: CommandName, change: Partial<Command> = {}): Promise<unknown> {
    return this.firstReply(() => this.order(name, change));
  }

  /** Waits for the first reply to any of several commands. */
  async firstReply(order: () => Promise<void>): Promise<unknown> {
    const listener = await RedisConnection.open(this.address);
    try {
      const channel = this.keys.replies(this.api.instanceId, 'test');
      await listener.call(['SUBSCRIBE', channel]);
      // A published message arrives like the reply to a call that was never written.
      const reply = listener.call([], REPLY_LIMIT_MS);
      reply.catch(() => undefined);
      await order();
      const published = await reply;
      return Array.isArray(published) ? (JSON.parse(String(published[2])) as unknown) : null;
    } finally {
      listener.close();
    }
  }

  /** Sends a command without waiting for a reply. */
  async order(name: CommandName, change: Partial<Command> = {}): Promise<void> {
    const time = (await this.redis.call(['TIME'])) as string[];
    const command: Command = {
      id: randomUUID(),
      name,
      args: '{}',
      deadline: Number(time[0]) * 1000 + 600_000,
      requester: 'test',
      ...change,
    };
    const fields = Object.entries(encodeCommand(command, this.api.commandKey)).flat();
    await this.redis.call(['XADD', this.commands, '*', ...fields]);
  }

  private get address(): RedisAddress {
    const { url, username, password } = this.api.redis;
    return { url, username, password };
  }
}
