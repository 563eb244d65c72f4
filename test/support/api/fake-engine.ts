import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { decodeCommand, type Command, type CommandName } from '@gwk/core/protocol/commands';
import { isNumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type { EngineRequest, EngineResponse, EngineRoute, CallBody } from '@gwk/core/protocol/engine';
import { EngineClient, OperatorClient } from '@gwk/core/protocol/internal-client';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { openRedis, closeRedis, type Redis } from '@gwk/api/platform/redis';
import { pause } from '../wait.js';

/** Timeout of one call. Only a hang reaches it. */
const CALL_TIMEOUT_MS = 120_000;

/** Shorter than the idle time after which the Redis client drops its connection. */
const BLOCK_MS = 1_000;

/** Handles a command. Undefined sends no reply, so the requester waits. */
export type CommandHandler = (args: Record<string, unknown>) => unknown;

/** A reply that refuses the command. */
export class CommandRefusal {
  constructor(readonly code: string) {}
}

export interface FakeEngineOptions {
  internalPort: number;
  operatorToken: string;
  redisUrl: string;
  redisPrefix: string;
}

/**
 * Fake engine that holds a lease on the real internal API and receives its commands over the real Redis. The test
 * decides its replies.
 */
export class FakeEngine {
  /** Received commands, in order. */
  readonly received: { name: CommandName; args: Record<string, unknown> }[] = [];
  /** By default it refuses `live`, so that a read of an instance returns at once. Other commands get no reply. */
  readonly handlers: Partial<Record<CommandName, CommandHandler>> = {
    live: () => new CommandRefusal('not-connected'),
  };
  terms!: EngineResponse<'acquire'>;
  readonly #instanceId: string;
  readonly #client: EngineClient;
  readonly #redis: Redis;
  /** Blocks on reads of commands, so it needs a connection of its own. */
  readonly #commands: Redis;
  readonly #keys: RedisKeys;
  #calls = 0;
  #stopped = false;
  #listening: Promise<void> = Promise.resolve();

  private constructor(place: FakeEngineOptions, instanceId: string, token: string) {
    this.#instanceId = instanceId;
    this.#client = new EngineClient({ baseUrl: portUrl(place), token, timeoutMs: CALL_TIMEOUT_MS });
    this.#keys = new RedisKeys(place.redisPrefix);
    const options = { url: place.redisUrl, program: 'engine', log: createLogger('engine', 'silent') };
    this.#redis = openRedis(options);
    this.#commands = openRedis(options);
  }

  /** @param publicId `ins_...` */
  static async start(place: FakeEngineOptions, publicId: string): Promise<FakeEngine> {
    const instance_id = fromPublicId('instance', publicId)!;
    const operator = new OperatorClient({
      baseUrl: portUrl(place),
      token: place.operatorToken,
      timeoutMs: CALL_TIMEOUT_MS,
    });
    const { token } = await operator.call('issue-token', { instance_id, pod: 'pod-1' });
    operator.close();
    const engine = new FakeEngine(place, instance_id, token);
    engine.terms = await engine.#client.call('acquire', { pod: 'pod-1', version: 'test' });
    for (const redis of [engine.#redis, engine.#commands])
      if (!redis.isReady) await new Promise((resolve) => redis.once('ready', resolve));
    engine.#listening = engine.#listen();
    return engine;
  }

  call<R extends EngineRoute>(route: R, body: CallBody<R>): Promise<EngineResponse<R>> {
    const { epoch, holder } = this.terms;
    const numbered = isNumberedRoute(route) ? { number: ++this.#calls } : {};
    return this.#client.call(route, { ...body, ...numbered, epoch, holder } as EngineRequest<R>);
  }

  async claim(limit: number): Promise<EngineResponse<'claims'>['messages']> {
    const claim = { claim_id: newUuid(), limit, repeated: false };
    return (await this.call('claims', claim)).messages;
  }

  async reportState(state: string, more: Record<string, unknown> = {}): Promise<void> {
    const change = { state, at: new Date().toISOString(), reason: null, ...more };
    await this.call('state', { changes: [change] } as CallBody<'state'>);
  }

  /** Reports a linked device and an open connection. */
  async connect(jid = '5511900000000@s.whatsapp.net'): Promise<void> {
    const paired = { jid, business_name: 'Loja', platform: 'android' };
    await this.reportState('connecting', { paired });
    await this.reportState('connected', { jid });
  }

  showQr(session: string, code: string, expires_in_ms = 20_000): Promise<EngineResponse<'pairing'>> {
    return this.call('pairing', { session, news: { kind: 'qr', code, expires_in_ms } });
  }

  /** Stops the engine and releases its lease. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    closeRedis(this.#commands);
    await this.#listening;
    await this.call('release', {}).catch(() => undefined);
    this.#client.close();
    closeRedis(this.#redis);
  }

  async #listen(): Promise<void> {
    const stream = this.#keys.commands(this.#instanceId);
    const key = Buffer.from(this.terms.command_key, 'base64');
    while (!this.#stopped) {
      // Commands are deleted once read, so every entry is new.
      const streams: unknown = await this.#commands
        .xRead({ key: stream, id: '0' }, { BLOCK: BLOCK_MS })
        .catch(() => pause(25));
      const [read] = (streams ?? []) as { messages: { id: string; message: Record<string, string> }[] }[];
      for (const { id, message } of read?.messages ?? []) {
        await this.#redis.xDel(stream, id);
        const command = decodeCommand(message, key);
        if (command) void this.#answer(command);
      }
    }
  }

  async #answer(command: Command): Promise<void> {
    const { id, name, requester } = command;
    const args = JSON.parse(command.args) as Record<string, unknown>;
    this.received.push({ name, args });
    const result = await this.handlers[name]?.(args);
    if (result === undefined) return;
    const reply =
      result instanceof CommandRefusal
        ? { id, ok: false, code: result.code, message: '' }
        : { id, ok: true, result };
    await this.#redis.publish(this.#keys.replies(this.#instanceId, requester), JSON.stringify(reply));
  }
}

const portUrl = ({ internalPort }: FakeEngineOptions): string => `http://127.0.0.1:${internalPort}/`;
