import { readFileSync } from 'node:fs';
import { engineSettings } from '@gwk/core/config/engine';
import { ConfigError, loadConfig, type ConfigOf } from '@gwk/core/config/load';
import { exitProcess } from '@gwk/core/exit-process';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/lifecycle';
import { createLogger, synchronousStdout, type Logger } from '@gwk/core/log';
import { tracing } from '@gwk/core/tracing/tracing';
import { EngineClient } from '@gwk/core/protocol/internal-client';
import { Engine } from './engine.js';
import { EXIT_CODES } from './exit-codes.js';
import { ProbeListener } from './probes.js';
import { acquireLease, AcquireRefused } from './internal-api/lease.js';

type Config = ConfigOf<typeof engineSettings>;

const CALL_TIMEOUT_MS = 10_000;

/** `gwk engine`: waits for the lease of its instance, runs it, and exits when the lease is lost. */
export async function runEngine(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment);
  const log = createLogger('engine', config.logLevel, synchronousStdout()).child({ pod: config.pod });
  exitOnUncaughtError(log, exitProcess);
  const running = new RunningEngine(config, log);
  onShutdown((cause) => running.stop(cause), { exitWithParent: config.exitWithParent, exit: exitProcess });
  await running.start();
}

function readConfig(environment: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig(engineSettings, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`gwk engine: ${error.message}\n`);
    process.exit(EXIT_CODES.configuration);
  }
}

class RunningEngine {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #client: EngineClient;
  readonly #health: ProbeListener;
  readonly #stopping = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  #engine: Engine | undefined;

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
    this.#client = new EngineClient({
      baseUrl: config.internalUrl,
      token: config.token,
      ca: config.internalCa,
      timeoutMs: CALL_TIMEOUT_MS,
    });
    this.#health = new ProbeListener({
      ready: () => ({
        ready: this.#engine?.ready ?? false,
        checks: this.#engine?.checks ?? { lease: 'not-held' },
      }),
      metrics: async () => (await this.#engine?.metrics.text()) ?? '',
    });
  }

  async start(): Promise<void> {
    await tracing.start(this.#config, 'gwk-engine', this.#log);
    const port = await this.#health.listen(this.#config.host, this.#config.port);
    this.#log.info({ port }, 'waiting for the lease');
    this.#starting = this.#acquireAndStart();
    await this.#starting;
  }

  async stop(cause: string): Promise<void> {
    this.#log.info({ cause }, 'stopping on request');
    this.#stopping.abort();
    await this.#starting;
    await this.#engine?.stop();
    await tracing.stop();
    this.#client.close();
    this.#health.close();
  }

  async #acquireAndStart(): Promise<void> {
    const { pod, ackTimeoutMs, idleClaimMs, networkUrl, networkRoot, networkCa } = this.#config;
    try {
      const context = { log: this.#log, signal: this.#stopping.signal };
      const { acquired, term } = await acquireLease(this.#client, { pod, version: readVersion() }, context);
      const { id } = acquired.instance;
      const log = this.#log.child({ instance_id: id, epoch: acquired.epoch });
      log.info({ lease_ms: acquired.lease_ms }, 'lease acquired');
      const options = {
        acquired,
        term,
        client: this.#client,
        pod,
        ackTimeoutMs,
        idleClaimMs,
        nameInMetrics: this.#config.metricsInstance,
        networks: {
          sandbox: this.#config.sandboxNetwork,
          web: { url: networkUrl, root: networkRoot, ca: networkCa },
        },
      };
      this.#engine = new Engine({ ...options, log, lost: exitProcess });
      // A stop was requested meanwhile: only release the lease.
      if (!this.#stopping.signal.aborted) this.#engine.start();
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (!(error instanceof AcquireRefused)) throw error;
      this.#log.error({ why: error.refusal }, 'lease refused');
      exitProcess(EXIT_CODES[error.refusal]);
    }
  }
}

function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
