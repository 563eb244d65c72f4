import { startPostgres } from '../servers/postgres.js';
import type { RunningServer } from '../servers/process.js';
import { startRedis } from '../servers/redis.js';
import { commandEnvironment, programEnvironment, type Wiring } from './environments.js';
import { ensureAccess } from './first-key.js';
import type { Folder } from './folder.js';
import { runGwk } from './gwk.js';
import { networkPart } from './network.js';
import { Part, type PartSpec, type Running } from './part.js';
import { programPart } from './programs.js';
import { welcome, type Progress } from './progress.js';
import { loadSecrets, type Secrets } from './secrets.js';
import { REDIS_CACHE, type LocalConfig, type ProgramName } from './settings.js';

/** Everything that `make run` runs. */
export class LocalGateway {
  readonly #secrets: Secrets;
  /** In the order of starting; stopped in the reverse one. */
  readonly #parts: Part[] = [];

  constructor(
    readonly config: LocalConfig,
    readonly folder: Folder,
    readonly progress: Progress,
  ) {
    this.#secrets = loadSecrets(folder.secrets);
  }

  /** Resolves when all parts are ready; from then on those that end are started again. */
  async start(asked: AbortSignal): Promise<void> {
    this.progress.say('starting');
    const wiring = await this.#startStores();
    asked.throwIfAborted();
    await this.#migrate(wiring, asked);
    asked.throwIfAborted();
    if (this.config.network === 'simulated') await this.#startNetwork();
    await this.#startPrograms(wiring);
    asked.throwIfAborted();
    const { access, isNew } = await ensureAccess(this.folder.access, wiring);
    asked.throwIfAborted();
    for (const part of this.#parts) part.keep();
    const { seconds, print } = this.progress;
    const simulated = this.config.network === 'simulated';
    print(welcome({ access, isNew, seconds, accessFile: this.folder.access, simulated }));
  }

  async stop(): Promise<void> {
    if (this.#parts.length === 0) return;
    this.progress.say('stopping');
    for (const part of this.#parts.toReversed()) await part.stop();
    this.progress.say('all stopped');
  }

  async #startStores(): Promise<Wiring> {
    let { databaseUrl, redisUrl } = this.config;
    const parts: Part[] = [];
    if (databaseUrl === undefined) parts.push(this.#part(this.#postgres((url) => (databaseUrl = url))));
    if (redisUrl === undefined) parts.push(this.#part(this.#redis((url) => (redisUrl = url))));
    await Promise.all(parts.map((part) => part.start()));
    return {
      config: this.config,
      secrets: this.#secrets,
      databaseUrl: databaseUrl!,
      redisUrl: redisUrl!,
      instances: this.folder.instances,
      media: this.folder.media,
    };
  }

  #postgres(ready: (url: string) => void): PartSpec {
    const logFile = this.folder.log('postgres');
    const start = () =>
      startPostgres({
        dataDir: this.folder.postgres,
        logFile,
        password: this.#secrets.postgresPassword,
        port: this.config.postgresPort,
        database: 'gwk',
      });
    return { name: 'postgres', start: () => asPart(start(), ready) };
  }

  #redis(ready: (url: string) => void): PartSpec {
    const logFile = this.folder.log('redis');
    const start = () =>
      startRedis({
        dataDir: this.folder.redis,
        logFile,
        password: this.#secrets.redisPassword,
        cacheDir: REDIS_CACHE,
        port: this.config.redisPort,
        say: this.progress.say,
      });
    return { name: 'redis', start: () => asPart(start(), ready) };
  }

  async #migrate(wiring: Wiring, asked: AbortSignal): Promise<void> {
    await runGwk(['migrate'], commandEnvironment(wiring, process.env), asked);
    this.progress.say('migrations applied');
  }

  /** Before the programs: an engine must find it. */
  async #startNetwork(): Promise<void> {
    const { config, folder } = this;
    const part = this.#part(networkPart({ config, folder: folder.path, logFile: folder.log('network') }));
    await part.start();
  }

  async #startPrograms(wiring: Wiring): Promise<void> {
    const { apiPort, workerPort, operatorPort } = this.config;
    const ports = { api: apiPort, worker: workerPort, operator: operatorPort };
    const parts = Object.entries(ports).map(([key, port]) => {
      const name = key as ProgramName;
      const env = programEnvironment(name, wiring, process.env);
      return this.#part(programPart({ name, port, env, logFile: this.folder.log(name) }));
    });
    await Promise.all(parts.map((part) => part.start()));
  }

  #part(spec: PartSpec): Part {
    const part = new Part(spec, this.progress.say);
    this.#parts.push(part);
    return part;
  }
}

async function asPart(starting: Promise<RunningServer>, ready: (url: string) => void): Promise<Running> {
  const server = await starting;
  ready(server.url);
  return { ended: server.process.ended, stop: () => server.stop() };
}
