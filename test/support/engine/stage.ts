import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { encodeCommand, type Command, type CommandName } from '@gwk/core/protocol/commands';
import type { StateChange } from '@gwk/core/protocol/engine';
import type { Heartbeat } from '@gwk/core/protocol/heartbeat';
import { RedisConnection, type RedisAddress } from '@gwk/engine-pod/redis/connection';
import { EngineProcess, until, type EngineSettings } from './engine-process.js';
import { ScriptedNetwork, type Beside } from './scripted-network.js';
import { ScriptedPort, type ScriptedPortOptions } from './scripted-port.js';

/** An engine process with a scripted port and network and a real Redis. */
export class Stage {
  readonly keys: RedisKeys;
  readonly #engines: EngineProcess[] = [];

  private constructor(
    readonly port: ScriptedPort,
    readonly network: ScriptedNetwork,
    readonly redis: RedisConnection,
    prefix: string,
  ) {
    this.keys = new RedisKeys(prefix);
  }

  /** @param redis the tests' own access; engines use it too unless `options.redis` says otherwise */
  static async open(
    redis: RedisAddress,
    prefix: string,
    { beside, ...options }: Partial<ScriptedPortOptions> & { beside?: Beside } = {},
  ): Promise<Stage> {
    const port = await ScriptedPort.start({ redis: { ...redis, key_prefix: prefix }, ...options });
    return new Stage(port, await ScriptedNetwork.start(beside), await RedisConnection.open(redis), prefix);
  }

  async close(): Promise<void> {
    for (const engine of this.#engines.splice(0)) await engine.kill();
    await this.redis.call(['DEL', this.sends, this.commands]).catch(() => undefined);
    this.redis.close();
    await this.network.stop();
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
  launch(settings: Partial<EngineSettings> = {}): EngineProcess {
    const all = { internalUrl: this.port.url, networkUrl: this.network.url, ...settings };
    const engine = new EngineProcess(all);
    this.#engines.push(engine);
    return engine;
  }

  /** Started and connected. */
  async start(settings: Partial<EngineSettings> = {}): Promise<EngineProcess> {
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

  /** The reply, as its channel brings it; null when none comes. */
  async command(name: CommandName, change: Partial<Command> = {}, withinMs = 10_000): Promise<unknown> {
    const listener = await RedisConnection.open(this.address);
    const time = (await this.redis.call(['TIME'])) as string[];
    const command: Command = {
      id: `c-${name}`,
      name,
      args: '{}',
      deadline: Number(time[0]) * 1000 + 5_000,
      requester: 'test',
      ...change,
    };
    try {
      const channel = this.keys.replies(this.port.instanceId, 'test');
      await listener.call(['SUBSCRIBE', channel]);
      // A published message comes like the reply to a call that was never written.
      const reply = listener.call([], withinMs).catch(() => null);
      const fields = Object.entries(encodeCommand(command, this.port.commandKey)).flat();
      await this.redis.call(['XADD', this.commands, '*', ...fields]);
      const published = await reply;
      return Array.isArray(published) ? (JSON.parse(String(published[2])) as unknown) : null;
    } finally {
      listener.close();
    }
  }

  private get address(): RedisAddress {
    const { url, username, password } = this.port.redis;
    return { url, username, password };
  }
}
