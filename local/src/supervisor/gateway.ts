import { startPostgres } from '../servers/postgres.js';
import type { RunningServer } from '../servers/process.js';
import { startRedis } from '../servers/redis.js';
import { commandEnvironment, programEnvironment, type Wiring } from './environments.js';
import { ensureAccess } from './first-key.js';
import type { Folder } from './folder.js';
import { runGwk } from './gwk.js';
import { readNetworkAddress, createNetworkComponent, type NetworkAddress } from './network.js';
import { Component, type ComponentSpec, type Running } from './component.js';
import { createProgramComponent } from './programs.js';
import { renderWelcome, type Progress } from './progress.js';
import { loadSecrets, type Secrets } from './secrets.js';
import { type LocalConfig, type ProgramName } from './settings.js';

/** The components that `make run` starts. */
export class LocalGateway {
  readonly #secrets: Secrets;
  /** In start order; stopped in reverse order. */
  readonly #components: Component[] = [];

  constructor(
    readonly config: LocalConfig,
    readonly folder: Folder,
    readonly progress: Progress,
  ) {
    this.#secrets = loadSecrets(folder.secrets);
  }

  /** Starts all components and supervises them. Resolves when all are ready. */
  async start(signal: AbortSignal): Promise<void> {
    this.progress.log('starting');
    const wiring = await this.#startStores();
    signal.throwIfAborted();
    await this.#migrate(wiring, signal);
    signal.throwIfAborted();
    const simulated = this.config.network === 'simulated';
    await this.#startPrograms(simulated ? { ...wiring, network: await this.#startNetwork() } : wiring);
    signal.throwIfAborted();
    const { access, isNew } = await ensureAccess(this.folder.access, wiring);
    signal.throwIfAborted();
    for (const component of this.#components) component.supervise();
    const { seconds, print } = this.progress;
    print(renderWelcome({ access, isNew, seconds, accessFile: this.folder.access, simulated }));
  }

  async stop(): Promise<void> {
    if (this.#components.length === 0) return;
    this.progress.log('stopping');
    for (const component of this.#components.toReversed()) await component.stop();
    this.progress.log('all stopped');
  }

  async #startStores(): Promise<Wiring> {
    let { databaseUrl, redisUrl } = this.config;
    const components: Component[] = [];
    if (databaseUrl === undefined) components.push(this.#add(this.#postgres((url) => (databaseUrl = url))));
    if (redisUrl === undefined) components.push(this.#add(this.#redis((url) => (redisUrl = url))));
    await Promise.all(components.map((component) => component.start()));
    return {
      config: this.config,
      secrets: this.#secrets,
      databaseUrl: databaseUrl!,
      redisUrl: redisUrl!,
      instances: this.folder.instances,
      media: this.folder.media,
    };
  }

  #postgres(ready: (url: string) => void): ComponentSpec {
    const logFile = this.folder.log('postgres');
    const start = () =>
      startPostgres({
        dataDir: this.folder.postgres,
        logFile,
        password: this.#secrets.postgresPassword,
        port: this.config.postgresPort,
        database: 'gwk',
      });
    return { name: 'postgres', start: () => runServer(start(), ready) };
  }

  #redis(ready: (url: string) => void): ComponentSpec {
    const logFile = this.folder.log('redis');
    const start = () =>
      startRedis({
        dataDir: this.folder.redis,
        logFile,
        password: this.#secrets.redisPassword,
        port: this.config.redisPort,
        log: this.progress.log,
      });
    return { name: 'redis', start: () => runServer(start(), ready) };
  }

  async #migrate(wiring: Wiring, signal: AbortSignal): Promise<void> {
    await runGwk(['migrate'], commandEnvironment(wiring, process.env), signal);
    this.progress.log('migrations applied');
  }

  /** Started before the programs, because engines connect to it. */
  async #startNetwork(): Promise<NetworkAddress> {
    const { config, folder } = this;
    const component = this.#add(
      createNetworkComponent({ config, folder: folder.path, logFile: folder.log('network') }),
    );
    await component.start();
    return readNetworkAddress(folder.path);
  }

  async #startPrograms(wiring: Wiring): Promise<void> {
    const { apiPort, workerPort, operatorPort } = this.config;
    const ports = { api: apiPort, worker: workerPort, operator: operatorPort };
    const components = Object.entries(ports).map(([key, port]) => {
      const name = key as ProgramName;
      const env = programEnvironment(name, wiring, process.env);
      return this.#add(createProgramComponent({ name, port, env, logFile: this.folder.log(name) }));
    });
    await Promise.all(components.map((component) => component.start()));
  }

  #add(spec: ComponentSpec): Component {
    const component = new Component(spec, this.progress.log);
    this.#components.push(component);
    return component;
  }
}

async function runServer(starting: Promise<RunningServer>, ready: (url: string) => void): Promise<Running> {
  const server = await starting;
  ready(server.url);
  return { ended: server.process.ended, stop: () => server.stop() };
}
