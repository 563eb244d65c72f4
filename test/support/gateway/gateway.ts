import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAILPOINTS, type Failpoint } from '@gwk/core/process/failpoints';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import {
  apiEnvironment,
  apiPorts,
  commandEnvironment,
  MARK_VARIABLE,
  newSecrets,
  operatorEnvironment,
  workerEnvironment,
  type ApiPorts,
  type GatewaySettings,
} from './gateway-settings.js';
import { runGwk, runGwkJson } from './gwk-command.js';
import { Network } from './network.js';
import { LoopTime } from './loop-time.js';
import { pickPort } from '../ports.js';
import { listProcesses, type ProcessInfo } from '../processes.js';
import { GWK, Program, ROOT, STOP_GRACE_MS, type Environment } from '../program.js';
import { redisPrefix } from '../servers/servers.js';
import { ownPostgres, ownRedis, sharedPostgres, sharedRedis, type Store } from '../servers/stores.js';
import { until } from '../wait.js';

const LOOP_PROBE = join(ROOT, 'test/dist/support/gateway/loop-probe.js');
const LAST_LINES = 10;
const ENGINE_ENDS_MS = 500;

export interface GatewayOptions {
  apis?: number;
  workers?: number;
  /** Own servers, for tests that kill them. */
  ownPostgres?: boolean;
  ownRedis?: boolean;
  /** Empty servers that the caller stops. */
  stores?: { postgres: Store; redis: Store };
  /** Returns the address of Postgres for the programs, for example of a pooler. */
  databaseUrl?: (postgresUrl: string) => Promise<string>;
  /** Records how long the event loops of all programs but the engines are held. */
  watchLoops?: boolean;
  /** Additional settings for each program. */
  settings?: { api?: Environment; worker?: Environment; operator?: Environment };
}

/**
 * A whole gateway as real processes: API, worker, operator, engines, and the sandbox network. This class restarts every
 * program that dies; the operator restarts engines.
 */
export class Gateway {
  readonly apis: Program[] = [];
  readonly workers: Program[] = [];
  /** Further programs that tests start. The gateway stops them too. */
  readonly guests: Program[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'gwk-e2e-'));
  operator!: Program;
  network!: Network;
  postgres!: Store;
  redis!: Store;
  settings!: GatewaySettings;
  /** Public addresses, one for each API process. */
  urls: string[] = [];
  internalUrls: string[] = [];

  private constructor(readonly options: GatewayOptions) {}

  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(options);
    try {
      await gateway.#start();
    } catch (error) {
      await gateway.stop().catch(() => undefined);
      throw error;
    }
    return gateway;
  }

  get programs(): Program[] {
    return [...this.apis, ...this.workers, ...(this.operator ? [this.operator] : [])];
  }

  /** How long the event loops of the programs are held, with the option `watchLoops`. */
  loops(): LoopTime[] {
    return this.programs.map(({ name }) => new LoopTime(name, this.#loopFile(name)));
  }

  #loopFile(program: string): string {
    return join(this.folder, `${program}.loop`);
  }

  /** Runs a `gwk` command that prints JSON, against the database of this gateway. */
  gwk<T>(...args: string[]): Promise<T> {
    return runGwkJson(args, commandEnvironment(this.settings));
  }

  async ready(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.ready()));
  }

  /** Running engine processes. */
  engines(): ProcessInfo[] {
    const parent = this.operator.pid;
    return listProcesses().filter((item) => item.parent === parent && item.command.includes(`${GWK} engine`));
  }

  /** Engine of the only instance. */
  engine(): Promise<ProcessInfo> {
    return until(() => this.engines()[0], { what: 'an engine runs' });
  }

  /** Ports of the engines' probes and metrics, read from their startup logs. */
  enginePorts(): { pid: number; port: number }[] {
    return this.logs()
      .get(this.operator.name)!
      .filter((line) => line.includes('"waiting for the lease"'))
      .map((line) => JSON.parse(line) as { pid: number; port: number });
  }

  /** Client of the internal API with the operator's token. */
  operatorClient(): OperatorClient {
    const { operatorToken: token } = this.settings;
    return new OperatorClient({ baseUrl: this.internalUrls[0]!, token, timeoutMs: 10_000 });
  }

  /** Arms a failpoint: the next process that reaches it exits there. */
  arm(name: Failpoint): void {
    writeFileSync(join(this.settings.failpointFolder, name), '');
  }

  isArmed(name: Failpoint): boolean {
    return existsSync(join(this.settings.failpointFolder, name));
  }

  /** All log lines by program. */
  logs(): Map<string, string[]> {
    const lines = (program: Program) =>
      readFileSync(program.options.logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    return new Map([...this.programs, ...this.guests].map((program) => [program.name, lines(program)]));
  }

  /** Stops everything. @throws Error if a process was left behind */
  async stop(): Promise<void> {
    for (const name of FAILPOINTS) if (this.settings) this.#disarm(name);
    // All engines exit at the same time and share the CPU.
    const farewellMs = this.operator ? this.engines().length * ENGINE_ENDS_MS : 0;
    await this.operator?.stop(STOP_GRACE_MS + farewellMs);
    await Promise.all([...this.guests, ...this.programs].map((program) => program.stop()));
    const left = this.settings ? await this.#leftBehind() : [];
    const list = left.map((process) => this.#describe(process)).join('\n');
    await Promise.all([this.network?.stop(), this.postgres?.stop(), this.redis?.stop()]);
    rmSync(this.folder, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`processes were left behind:\n${list}`);
  }

  /** Includes the last log lines, to show why the process has not exited. */
  #describe({ pid, command }: ProcessInfo): string {
    const lines = [...this.logs().values()].flat().filter((line) => line.includes(`"pid":${pid},`));
    return [`${pid} ${command}`, ...lines.slice(-LAST_LINES)].join('\n');
  }

  #disarm(name: Failpoint): void {
    rmSync(join(this.settings.failpointFolder, name), { force: true });
  }

  async #leftBehind(): Promise<ProcessInfo[]> {
    const marked = () => listProcesses().filter((item) => this.#isOurs(item));
    // An engine whose operator has exited needs a moment to stop.
    await until(() => marked().length === 0, { what: 'every process has ended' }).catch(() => undefined);
    const left = marked();
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    return left;
  }

  #isOurs({ pid }: ProcessInfo): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(this.#mark());
    } catch {
      return false; // not readable by us, or exited
    }
  }

  #mark(): string {
    return `${MARK_VARIABLE}=${this.settings.mark}`;
  }

  async #start(): Promise<void> {
    const { apis = 1, workers = 1 } = this.options;
    const { stores } = this.options;
    [this.network, this.postgres, this.redis] = await Promise.all([
      Network.start(),
      stores?.postgres ??
        (this.options.ownPostgres ? ownPostgres(join(this.folder, 'pg')) : sharedPostgres()),
      stores?.redis ?? (this.options.ownRedis ? ownRedis(join(this.folder, 'redis')) : sharedRedis()),
    ]);
    const ports = await apiPorts(apis);
    this.settings = {
      ...newSecrets(),
      mediaFolder: join(this.folder, 'media'),
      mediaUrl: `http://127.0.0.1:${ports[0]!.port}`,
      databaseUrl: await this.#databaseUrl(),
      redisUrl: this.redis.url,
      redisPrefix: redisPrefix(),
      operatorPort: await pickPort(),
      localFolder: join(this.folder, 'instances'),
      failpointFolder: join(this.folder, 'failpoints'),
      networkUrl: this.network.url,
    };
    mkdirSync(this.settings.localFolder);
    mkdirSync(this.settings.failpointFolder);
    // Engines may have users of their own, and remove the failpoint that they reach.
    chmodSync(this.folder, 0o711);
    chmodSync(this.settings.failpointFolder, 0o777);
    if (this.options.ownPostgres || stores) await runGwk(['migrate'], commandEnvironment(this.settings));
    await this.#startPrograms(ports, workers);
  }

  async #databaseUrl(): Promise<string> {
    const { url } = this.postgres;
    return this.options.databaseUrl?.(url) ?? url;
  }

  async #startPrograms(ports: ApiPorts[], workers: number): Promise<void> {
    const { api = {}, worker = {}, operator = {} } = this.options.settings ?? {};
    for (const [index, pair] of ports.entries()) {
      const env = { ...apiEnvironment(this.settings, pair), ...api };
      this.apis.push(this.#program('api', index, env, pair.port));
      this.urls.push(`http://127.0.0.1:${pair.port}`);
      this.internalUrls.push(`http://127.0.0.1:${pair.internalPort}`);
    }
    for (let index = 0; index < workers; index++) {
      const port = await pickPort();
      const env = { ...workerEnvironment(this.settings, port), ...worker };
      this.workers.push(this.#program('worker', index, env, port));
    }
    const env = { ...operatorEnvironment(this.settings, ports[0]!.internalPort), ...operator };
    this.operator = this.#program('operator', 0, env, this.settings.operatorPort);
    await Promise.all(this.programs.map((program) => program.start()));
  }

  #program(kind: string, index: number, env: Environment, port: number): Program {
    const name = `${kind}-${index}`;
    return new Program({
      name,
      args: [...(this.options.watchLoops ? ['--import', LOOP_PROBE] : []), GWK, kind],
      env: { ...env, TEST_LOOP_FILE: this.#loopFile(name) },
      logFile: join(this.folder, `${name}.log`),
      ready: () => answersReady(port),
    });
  }
}

function answersReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const call = get(
      { host: '127.0.0.1', port, path: '/readyz', agent: false, timeout: 5000 },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode === 200));
      },
    );
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(false));
  });
}
