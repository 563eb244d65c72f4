import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { encodeCommand, type Command, type CommandName } from '@gwk/core/protocol/commands';
import type { StateChange } from '@gwk/core/protocol/engine';
import type { Heartbeat } from '@gwk/core/protocol/heartbeat';
import { RedisConnection, type RedisAddress } from '@gwk/engine-pod/redis/connection';
import { redisPrefix, redisUrl } from '../servers/servers.js';
import { addressOf } from './addresses.js';
import { EngineInProcess } from './engine-in-process.js';
import { EngineProcess, until, type EngineSettings } from './engine-process.js';
import { ScriptedNetwork, type Beside } from './scripted-network.js';
import { ScriptedPort, type ScriptedPortOptions } from './scripted-port.js';

interface StagedEngine {
  log: string;
  kill(): Promise<void>;
}

interface StageParts<E> {
  port: ScriptedPort;
  network: ScriptedNetwork;
  redis: RedisConnection;
  prefix: string;
  newEngine: (settings: EngineSettings) => E;
}

type StageOptions = Partial<ScriptedPortOptions> & { beside?: Beside };

/** Far beyond what any machine takes: only a reply that never comes is waited for so long. */
const REPLY_LIMIT_MS = 120_000;

/** An engine with a scripted port and network and a real Redis. */
export class Stage<E extends StagedEngine = EngineProcess> {
  readonly port: ScriptedPort;
  readonly network: ScriptedNetwork;
  readonly redis: RedisConnection;
  readonly keys: RedisKeys;
  readonly #newEngine: (settings: EngineSettings) => E;
  readonly #engines: E[] = [];

  private constructor({ port, network, redis, prefix, newEngine }: StageParts<E>) {
    this.port = port;
    this.network = network;
    this.redis = redis;
    this.keys = new RedisKeys(prefix);
    this.#newEngine = newEngine;
  }

  /**
   * With engines that are processes.
   *
   * @param redis the tests' own access; engines use it too unless `options.redis` says otherwise
   */
  static async open(redis: RedisAddress, prefix: string, options: StageOptions = {}): Promise<Stage> {
    const newEngine = (settings: EngineSettings) => new EngineProcess(settings);
    return new Stage({ ...(await Stage.#parts(redis, prefix, options)), newEngine });
  }

  /** With engines in this process. */
  static async openInProcess(options: StageOptions = {}): Promise<Stage<EngineInProcess>> {
    const newEngine = (settings: EngineSettings) => new EngineInProcess(settings);
    return new Stage({ ...(await Stage.#parts(addressOf(redisUrl()), redisPrefix(), options)), newEngine });
  }

  static async #parts(redis: RedisAddress, prefix: string, { beside, ...options }: StageOptions) {
    const port = await ScriptedPort.start({ redis: { ...redis, key_prefix: prefix }, ...options });
    const network = await ScriptedNetwork.start(beside);
    return { port, network, redis: await RedisConnection.open(redis), prefix };
  }

  async close(): Promise<void> {
    // An engine in this process stops in order: it must not wait for what a test has left unanswered.
    this.port.fault = () => 'fenced';
    this.port.cutOff();
    await this.network.stop();
    for (const engine of this.#engines.splice(0)) await engine.kill();
    await this.redis.call(['DEL', this.sends, this.commands]).catch(() => undefined);
    this.redis.close();
    await this.port.down();
  }

  get sends(): string {
    return this.keys.sends(this.port.instanceId);
  }
  get commands(): string {
    return this.keys.commands(this.port.instanceId);
  }
  get changes(): StateChange[] {
    return this.port.items<StateChange>('state', 'changes');
  }
  get states(): string[] {
    return this.changes.map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`));
  }
  get sent(): number {
    return this.port.queue.outcomesOf('sent').length;
  }

  /** Started, and perhaps waiting for its lease. */
  launch(settings: Partial<EngineSettings> = {}): E {
    const all = { internalUrl: this.port.url, networkUrl: this.network.url, ...settings };
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

  async ring(...messageIds: string[]): Promise<void> {
    await Promise.all(messageIds.map((id) => this.redis.call(['XADD', this.sends, '*', 'm', id])));
  }

  async heartbeat(): Promise<Heartbeat | null> {
    const text = await this.redis.call(['GET', this.keys.heartbeat(this.port.instanceId)]);
    return typeof text === 'string' ? (JSON.parse(text) as Heartbeat) : null;
  }

  /** The reply, as its channel brings it. */
  command(name: CommandName, change: Partial<Command> = {}): Promise<unknown> {
    return this.firstReply(() => this.order(name, change));
  }

  /** To whichever of several orders is answered first. */
  async firstReply(order: () => Promise<void>): Promise<unknown> {
    const listener = await RedisConnection.open(this.address);
    try {
      const channel = this.keys.replies(this.port.instanceId, 'test');
      await listener.call(['SUBSCRIBE', channel]);
      // A published message comes like the reply to a call that was never written.
      const reply = listener.call([], REPLY_LIMIT_MS);
      reply.catch(() => undefined);
      await order();
      const published = await reply;
      return Array.isArray(published) ? (JSON.parse(String(published[2])) as unknown) : null;
    } finally {
      listener.close();
    }
  }

  /** Gives a command, and waits for no reply. */
  async order(name: CommandName, change: Partial<Command> = {}): Promise<void> {
    const time = (await this.redis.call(['TIME'])) as string[];
    const command: Command = {
      id: `c-${name}`,
      name,
      args: '{}',
      deadline: Number(time[0]) * 1000 + 600_000,
      requester: 'test',
      ...change,
    };
    const fields = Object.entries(encodeCommand(command, this.port.commandKey)).flat();
    await this.redis.call(['XADD', this.commands, '*', ...fields]);
  }

  private get address(): RedisAddress {
    const { url, username, password } = this.port.redis;
    return { url, username, password };
  }
}
