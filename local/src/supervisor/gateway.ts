import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareFfmpeg } from '../servers/ffmpeg.js';
import { startPostgres } from '../servers/postgres.js';
import type { Running } from '../servers/process.js';
import { startRedis } from '../servers/redis.js';
import { Component } from './component.js';
import { makeConsoleLink } from './console-link.js';
import {
  commandEnvironment,
  DATABASE,
  networkEnvironment,
  programEnvironment,
  type NetworkAddress,
  type Wiring,
} from './environments.js';
import { ACCOUNT, ensureAccess } from './first-key.js';
import type { Folder } from './folder.js';
import { runGwk, startGwk, type GwkProgram } from './programs.js';
import { renderWelcome, type Progress } from './progress.js';
import { loadSecrets, type Secrets } from './secrets.js';
import type { LocalConfig, ProgramName } from './settings.js';

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
    const fault = await prepareFfmpeg(process.env['GWK_WORKER_FFMPEG'], this.progress.log);
    if (fault !== undefined) this.progress.log(fault);
    signal.throwIfAborted();
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
    const console = process.env['GWK_API_CONSOLE'] === 'off' ? null : await makeConsoleLink(wiring, ACCOUNT);
    const { seconds, print } = this.progress;
    print(renderWelcome({ access, isNew, seconds, console, accessFile: this.folder.access, simulated }));
  }

  async stop(): Promise<void> {
    if (this.#components.length === 0) return;
    this.progress.log('stopping');
    for (const component of this.#components.toReversed()) await component.stop();
    this.progress.log('all stopped');
  }

  async #startStores(): Promise<Wiring> {
    const { config, folder } = this;
    const secrets = this.#secrets;
    const startOwnPostgres = (logFile: string) =>
      startPostgres({
        dataDir: folder.postgres,
        logFile,
        password: secrets.postgresPassword,
        port: config.postgresPort,
        database: DATABASE,
      });
    const startOwnRedis = (logFile: string) =>
      startRedis({
        dataDir: folder.redis,
        logFile,
        password: secrets.redisPassword,
        port: config.redisPort,
        log: this.progress.log,
      });
    const [databaseUrl, redisUrl] = await Promise.all([
      config.databaseUrl ?? this.#start('postgres', startOwnPostgres).then(({ url }) => url),
      config.redisUrl ?? this.#start('redis', startOwnRedis).then(({ url }) => url),
    ]);
    return { config, secrets, databaseUrl, redisUrl, folder: folder.path, media: folder.media };
  }

  async #migrate(wiring: Wiring, signal: AbortSignal): Promise<void> {
    await runGwk(['migrate'], commandEnvironment(wiring, process.env), signal);
    this.progress.log('migrations applied');
  }

  /** Started before the programs, because engines connect to it. */
  async #startNetwork(): Promise<NetworkAddress> {
    const { networkPort, networkControlPort, networkMediaPort } = this.config;
    const { path } = this.folder;
    const ports = { port: networkPort, 'control-port': networkControlPort, 'media-port': networkMediaPort };
    const options = Object.entries(ports).flatMap(([name, port]) => [`--${name}`, String(port)]);
    await this.#startGwk('network', {
      args: ['network', 'start', '--folder', path, ...options],
      env: networkEnvironment(process.env),
      readyUrl: `http://127.0.0.1:${networkControlPort}/status`,
      readyMethod: 'POST',
    });
    return JSON.parse(readFileSync(join(path, 'network.json'), 'utf8')) as NetworkAddress;
  }

  async #startPrograms(wiring: Wiring): Promise<void> {
    const { apiPort: api, workerPort: worker, operatorPort: operator } = this.config;
    const ports: Record<ProgramName, number> = { api, worker, operator };
    const starting = (Object.keys(ports) as ProgramName[]).map((name) =>
      this.#startGwk(name, {
        args: [name],
        env: programEnvironment(name, wiring, process.env),
        readyUrl: `http://127.0.0.1:${ports[name]}/readyz`,
      }),
    );
    await Promise.all(starting);
  }

  #startGwk(name: string, program: Omit<GwkProgram, 'logFile' | 'signal'>): Promise<Running> {
    return this.#start(name, (logFile, signal) => startGwk({ ...program, logFile, signal }));
  }

  /** Starts a component and keeps it for `stop`. */
  #start<T extends Running>(
    name: string,
    start: (logFile: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const logFile = this.folder.log(name);
    const component = new Component({ name, start: (signal) => start(logFile, signal) }, this.progress.log);
    this.#components.push(component);
    return component.start();
  }
}
